from dataclasses import replace
from pathlib import Path

from host_pollers import MAIN, PROGRAM, SITUATION
from host_threads import thread_files
from host_tree import POLL, judge, remedied
from taut.host.check import State
from taut.host.checks.application.thread_pinning import CHECK
from taut.host.host import Host
from taut.host.situation import Role


def test_one_thread_for_each_core_is_good(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, PROGRAM, SITUATION)

    assert finding.state is State.PASS
    assert "rte-worker-3 (501) on 3" in finding.observed


def test_threads_that_may_use_both_cores_get_one_each(tmp_path: Path) -> None:
    loose = thread_files(500, "a", "2-3", last_core=3) | thread_files(
        501, "b", "2-3", pid=500, last_core=3
    )
    finding = judge(CHECK, tmp_path, loose, SITUATION)
    assert finding.state is State.FAIL
    assert "a (500) may use 2-3" in finding.observed

    with remedied(CHECK, tmp_path, SITUATION) as remedies:
        assert [change.wanted for change in remedies[0].changes] == ["3", "2"]


def test_two_threads_on_one_core_are_for_the_program_to_part(tmp_path: Path) -> None:
    shared = PROGRAM | thread_files(503, "c", "3", pid=MAIN)

    finding = judge(CHECK, tmp_path, shared, SITUATION)

    assert finding.state is State.FAIL
    assert "core 3 is shared by rte-worker-3 (501), c (503)" in finding.observed
    remedies = CHECK.propose(Host(tmp_path), SITUATION)
    assert [remedy.id for remedy in remedies] == ["A02-by-hand"]


def test_another_thread_of_the_program_may_not_run_there(tmp_path: Path) -> None:
    stray = PROGRAM | thread_files(502, "eal-intr-thread", "0-3", pid=MAIN)

    finding = judge(CHECK, tmp_path, stray, SITUATION)

    assert finding.state is State.FAIL
    assert "eal-intr-thread (502) may run on 0-3" in finding.observed


def test_a_program_that_is_not_pinned_at_all_fails(tmp_path: Path) -> None:
    loose = thread_files(MAIN, "main", "0-3")

    assert judge(CHECK, tmp_path, loose, SITUATION).state is State.FAIL
    unnamed = replace(SITUATION, cores=())
    assert judge(CHECK, tmp_path, loose, unnamed).state is State.FAIL


def test_where_nobody_named_cores_those_with_one_core_are_judged(tmp_path: Path) -> None:
    unnamed = replace(SITUATION, cores=())

    assert judge(CHECK, tmp_path, PROGRAM, unnamed).state is State.PASS


def test_absent_and_malformed(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, PROGRAM, POLL).state is State.NOT_APPLICABLE
    host = replace(SITUATION, role=Role.KVM_HOST)
    assert judge(CHECK, tmp_path, PROGRAM, host).state is State.NOT_APPLICABLE
    odd = {"/proc/500/stat": "500", "/proc/500/status": "Cpus_allowed_list:\t?\n"}
    assert judge(CHECK, tmp_path / "odd", odd, SITUATION).state is State.UNKNOWN
