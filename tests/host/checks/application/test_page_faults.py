from dataclasses import replace
from pathlib import Path

from host_pollers import MAIN, PROGRAM, SITUATION, faults, of_thread, watched
from host_threads import stat_line, thread_files
from host_tree import POLL, judge
from taut.host.check import State
from taut.host.checks.application.page_faults import CHECK
from taut.host.host import Host
from taut.host.situation import Role

LOCKED = PROGRAM | thread_files(MAIN, "rte-worker-2", "2", status="VmLck:\t  2048 kB\n")
UNLOCKED = PROGRAM | thread_files(MAIN, "rte-worker-2", "2", status="VmLck:\t     0 kB\n")
SWAPS = {"/proc/swaps": "Filename Type Size Used Priority\n/dev/vda2 partition 1 0 -2\n"}


def test_no_fault_while_watched_is_good(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, LOCKED, watched(faults(7, 1), faults(7, 1)))

    assert finding.state is State.PASS
    assert "none of 2 threads in 5 s" in finding.observed
    assert "2048 kB locked" in finding.observed


def test_a_fault_of_one_thread_fails(tmp_path: Path) -> None:
    after = faults(7, 1) | {of_thread(MAIN, "stat"): stat_line(MAIN, "a b) c", faults=(9, 2))}

    finding = judge(CHECK, tmp_path, LOCKED, watched(faults(7, 1), after))

    assert finding.state is State.FAIL
    assert "rte-worker-2 (500): 2 minor, 1 major" in finding.observed
    assert "mlockall" in CHECK.propose(Host(tmp_path), SITUATION)[0].by_hand


def test_unlocked_memory_fails_where_the_machine_swaps(tmp_path: Path) -> None:
    same = watched(faults(7, 1), faults(7, 1))

    assert judge(CHECK, tmp_path / "a", UNLOCKED, same).state is State.PASS
    assert judge(CHECK, tmp_path / "b", UNLOCKED | SWAPS, same).state is State.FAIL
    assert judge(CHECK, tmp_path / "c", LOCKED | SWAPS, same).state is State.PASS


def test_unwatched_it_is_unknown(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, LOCKED, SITUATION)

    assert finding.state is State.UNKNOWN
    assert "--watch" in finding.needs


def test_without_a_process_or_on_a_kvm_host_there_is_nothing_to_judge(tmp_path: Path) -> None:
    host = replace(SITUATION, role=Role.KVM_HOST)

    nobody = judge(CHECK, tmp_path, PROGRAM, POLL)
    assert (nobody.state, nobody.observed) == (
        State.NOT_APPLICABLE,
        "no polling process named or found",
    )
    assert judge(CHECK, tmp_path, PROGRAM, host).state is State.NOT_APPLICABLE


def test_a_program_that_is_gone_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}, SITUATION).state is State.UNKNOWN


def test_a_program_that_is_not_pinned_is_not_judged(tmp_path: Path) -> None:
    loose = thread_files(MAIN, "main", "0-3")

    assert judge(CHECK, tmp_path, loose, SITUATION).state is State.NOT_APPLICABLE


def test_what_is_malformed_is_unknown(tmp_path: Path) -> None:
    odd = {of_thread(MAIN, "stat"): "500 (x) R 1"}

    assert judge(CHECK, tmp_path, PROGRAM, watched(odd, odd)).state is State.UNKNOWN
