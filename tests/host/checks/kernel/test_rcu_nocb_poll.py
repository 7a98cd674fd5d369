from dataclasses import replace
from pathlib import Path

from host_threads import KERNEL, thread_files
from host_tree import POLL, judge, tree
from taut.host.check import Profile, State
from taut.host.checks.kernel.rcu_nocb_poll import CHECK
from taut.host.situation import Role

PATH = "/proc/cmdline"
THREAD = thread_files(20, "rcuog/2", "0-1", flags=KERNEL)


def test_it_is_optional(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "quiet\n"}).state is State.PASS
    (remedy,) = CHECK.remedies(tree(tmp_path, {}), POLL)
    assert str(remedy.boot[0]) == "rcu_nocb_poll"
    assert remedy.profile is Profile.EXTREME


def test_with_offloaded_cores_it_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "rcu_nocb_poll\n"} | THREAD).state is State.PASS


def test_the_spelling_of_a_paper_fails(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {PATH: "rcu_nocbs_poll\n"} | THREAD)

    assert finding.state is State.FAIL
    assert "spelling" in finding.observed


def test_without_offloaded_cores_it_does_nothing(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "rcu_nocb_poll\n"}).state is State.FAIL


def test_without_a_command_line_nothing_is_known(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.UNKNOWN


def test_a_guest_is_not_asked(tmp_path: Path) -> None:
    guest = replace(POLL, role=Role.KVM_GUEST)

    assert judge(CHECK, tmp_path, {PATH: "quiet\n"}, guest).state is State.NOT_APPLICABLE
