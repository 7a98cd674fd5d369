from pathlib import Path

from host_threads import KERNEL, thread_files
from host_tree import POLL, judge, tree
from taut.host.check import Profile, State
from taut.host.checks.kernel.pressure_stalls import CHECK

OFF = {"/proc/stat": "cpu 0\n"}
ON = OFF | {"/proc/pressure/cpu": "some avg10=0.00\n"}


def monitor(cores: str) -> dict[str, str]:
    return thread_files(77, "psimon", cores, flags=KERNEL)


def test_off_passes_and_so_does_on_without_a_monitor(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, OFF).observed == "off"
    assert judge(CHECK, tmp_path, ON).state is State.PASS


def test_a_monitor_elsewhere_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, ON | monitor("0-1")).state is State.PASS


def test_a_monitor_on_poll_cores_fails(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, ON | monitor("0-3"))

    assert finding.state is State.FAIL
    (remedy,) = CHECK.propose(tree(tmp_path, {}), POLL)
    assert str(remedy.boot[0]) == "psi=0"
    assert remedy.profile is Profile.EXTREME


def test_a_monitor_whose_cores_are_malformed_is_left_out(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, ON | monitor("all")).state is State.PASS


def test_no_proc_leaves_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE
