from pathlib import Path

from host_threads import KERNEL, thread_files
from host_tree import POLL, judge, remedied, tree
from taut.host.check import State
from taut.host.checks.kernel.rcu_callbacks import CHECK

CORES = {"/sys/devices/system/cpu/possible": "0-3\n"}
AWAY = thread_files(20, "rcuog/2", "0-1", flags=KERNEL)
ASTRAY = thread_files(20, "rcuog/2", "0-3", flags=KERNEL)


def booted(line: str) -> dict[str, str]:
    return CORES | {"/proc/cmdline": f"{line}\n"}


def test_offloaded_poll_cores_pass(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, booted("rcu_nocbs=2-3") | AWAY).state is State.PASS


def test_nohz_full_in_force_implies_it(tmp_path: Path) -> None:
    files = booted("nohz_full=2-3") | {"/sys/devices/system/cpu/nohz_full": "2-3\n"} | AWAY

    assert judge(CHECK, tmp_path, files).state is State.PASS


def test_what_the_kernel_said_at_boot_outweighs_the_command_line(tmp_path: Path) -> None:
    said = "[0.0] Linux version 6\n[0.2] rcu: \tOffload RCU callbacks from CPUs: 3.\n"

    finding = judge(CHECK, tmp_path, booted("rcu_nocbs=2-3") | AWAY | {"/commands/dmesg": said})

    assert finding.state is State.FAIL
    assert finding.cores == (2,)


def test_nothing_offloaded_fails_and_is_remedied_at_boot(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, booted("quiet"))

    assert finding.state is State.FAIL
    (remedy,) = CHECK.remedies(tree(tmp_path, {}), POLL)
    assert str(remedy.boot[0]) == "rcu_nocbs=2-3"


def test_a_parameter_without_the_threads_is_inert(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, booted("rcu_nocbs=2-3")).state is State.FAIL


def test_a_kernel_built_without_it_offloads_nothing(tmp_path: Path) -> None:
    off = {
        "/proc/sys/kernel/osrelease": "6.12\n",
        "/boot/config-6.12": "# CONFIG_RCU_NOCB_CPU is not set\n",
    }

    assert judge(CHECK, tmp_path, booted("rcu_nocbs=2-3") | off | AWAY).state is State.FAIL


def test_threads_on_the_poll_cores_are_moved(tmp_path: Path) -> None:
    tree(tmp_path, booted("rcu_nocbs=2-3") | ASTRAY)

    with remedied(CHECK, tmp_path) as remedies:
        assert [remedy.id for remedy in remedies] == ["K08-now", "K08-boot"]


def test_a_list_the_kernel_cannot_read_offloads_nothing(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, booted("rcu_nocbs=two") | AWAY).state is State.FAIL


def test_without_a_command_line_nothing_is_known(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.UNKNOWN
