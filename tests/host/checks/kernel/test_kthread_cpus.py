from pathlib import Path

from host_threads import KERNEL, thread_files
from host_tree import POLL, judge, tree
from taut.host.check import State
from taut.host.checks.kernel.kthread_cpus import CHECK


def kthreadd(cores: str) -> dict[str, str]:
    return thread_files(2, "kthreadd", cores, flags=KERNEL)


def test_kernel_threads_that_start_elsewhere_pass(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, kthreadd("0-1")).state is State.PASS


def test_threads_that_start_anywhere_fail_and_no_patch_is_proposed(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, kthreadd("0-3"))

    assert finding.state is State.FAIL
    assert finding.cores == (2, 3)
    (remedy,) = CHECK.propose(tree(tmp_path, {}), POLL)
    assert not remedy.boot and not remedy.changes


def test_the_parameter_on_a_kernel_that_ignores_it_fails(tmp_path: Path) -> None:
    said = (
        "[0.0] Linux version 6\n[0.1] Unknown kernel command line parameters"
        ' "kthread_cpus=0-1", will be passed to user space.\n'
    )
    files = {"/proc/cmdline": "kthread_cpus=0-1\n", "/commands/dmesg": said}

    finding = judge(CHECK, tmp_path, files | kthreadd("0-1"))

    assert finding.state is State.FAIL
    assert "ignores" in finding.observed


def test_hidden_threads_are_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.UNKNOWN


def test_a_malformed_status_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, kthreadd("all")).state is State.UNKNOWN
