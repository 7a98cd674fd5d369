from dataclasses import replace
from pathlib import Path

from host_threads import KERNEL, thread_files
from host_tree import POLL, judge, remedied
from taut.host.check import Profile, State
from taut.host.checks.runtime.memory_daemons import CHECK
from taut.host.host import Host
from taut.host.situation import Role

STATE = "/sys/kernel/mm/damon/admin/kdamonds/0/state"
MODULE = "/sys/module/damon_reclaim/parameters/enabled"
EVERYWHERE = thread_files(25, "kdamond.0", "0-3", flags=KERNEL)
ON = EVERYWHERE | {STATE: "on\n", MODULE: "Y\n"}


def test_without_a_thread_it_is_good_whatever_the_files_say(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {MODULE: "Y\n", STATE: "?"}).state is State.PASS


def test_a_thread_on_housekeeping_cores_is_good(tmp_path: Path) -> None:
    files = thread_files(25, "kdamond.0", "0-1", flags=KERNEL)

    assert judge(CHECK, tmp_path, files).state is State.PASS


def test_a_thread_that_may_run_on_poll_cores_is_moved_or_switched_off(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, ON)
    assert finding.state is State.FAIL
    assert "kdamond.0 (25) may run on 0-3" in finding.observed

    with remedied(CHECK, tmp_path) as remedies:
        assert [remedy.id for remedy in remedies] == ["R31-now", "R31-now-2", "R31-boot"]
        assert remedies[0].profile is Profile.RECOMMENDED
        assert [change.wanted for change in remedies[0].changes] == ["0-1"]
        assert remedies[1].profile is Profile.EXTREME
        assert [change.wanted for change in remedies[1].changes] == ["off", "N"]


def test_nobody_named_cores(tmp_path: Path) -> None:
    unnamed = replace(POLL, cores=())

    assert judge(CHECK, tmp_path, EVERYWHERE, unnamed).state is State.FAIL
    assert list(CHECK.propose(Host(tmp_path), unnamed)) == []
    some = thread_files(25, "kdamond.0", "0-1", flags=KERNEL)
    assert judge(CHECK, tmp_path, some, unnamed).state is State.UNKNOWN


def test_a_program_of_that_name_and_other_roles_do_not_count(tmp_path: Path) -> None:
    program = thread_files(25, "kdamond.0", "0-3")
    container = replace(POLL, role=Role.CONTAINER)

    assert judge(CHECK, tmp_path, program).state is State.PASS
    assert judge(CHECK, tmp_path, {}, container).state is State.NOT_APPLICABLE
