from dataclasses import replace
from pathlib import Path

from host_pollers import MAIN, PROGRAM, SECOND, SITUATION, of_thread, watched
from host_tree import POLL, judge
from taut.host.check import State
from taut.host.checks.application.context_switches import CHECK
from taut.host.situation import Role


def counters(switches: int, waited_ns: int, tid: int = SECOND) -> dict[str, str]:
    status = "Name:\tx\nvoluntary_ctxt_switches:\t{}\nnonvoluntary_ctxt_switches:\t{}\n"
    files = {}
    for thread in (MAIN, SECOND):
        n, wait = (switches, waited_ns) if thread == tid else (4, 1000)
        files[of_thread(thread, "status")] = status.format(n + 1, n)
        files[of_thread(thread, "schedstat")] = f"123456 {wait} 7"
    return files


def test_no_switch_is_good(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, PROGRAM, watched(counters(4, 1000), counters(4, 1000)))

    assert finding.state is State.PASS
    assert "none of 2 threads" in finding.observed


def test_a_switch_of_one_thread_fails(tmp_path: Path) -> None:
    after = counters(9, 4_001_000)

    finding = judge(CHECK, tmp_path, PROGRAM, watched(counters(4, 1000), after))

    assert finding.state is State.FAIL
    assert finding.observed == "rte-worker-3 (501): 5 involuntary switches, waited 4.000 ms"


def test_a_wait_alone_fails_too(tmp_path: Path) -> None:
    after = counters(4, 2000)

    assert judge(CHECK, tmp_path, PROGRAM, watched(counters(4, 1000), after)).state is State.FAIL


def test_unwatched_or_malformed_it_is_unknown(tmp_path: Path) -> None:
    odd = {
        of_thread(MAIN, "status"): "nonvoluntary_ctxt_switches:\tx",
        of_thread(MAIN, "schedstat"): "1",
    }

    assert judge(CHECK, tmp_path, PROGRAM, SITUATION).state is State.UNKNOWN
    assert judge(CHECK, tmp_path, PROGRAM, watched(odd, odd)).state is State.UNKNOWN


def test_a_container_is_judged_and_a_machine_without_a_program_is_not(tmp_path: Path) -> None:
    same = watched(counters(4, 1000), counters(4, 1000))
    container = replace(same, role=Role.CONTAINER)

    assert judge(CHECK, tmp_path, PROGRAM, container).state is State.PASS
    assert judge(CHECK, tmp_path, PROGRAM, POLL).state is State.NOT_APPLICABLE
