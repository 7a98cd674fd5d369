from pathlib import Path

from host_tree import POLL, judge, tree
from taut.host.check import State
from taut.host.checks.kernel.managed_interrupts import CHECK

CMDLINE = "/proc/cmdline"
CORES = {"/sys/devices/system/cpu/possible": "0-3\n"}
MESSAGE = {"/sys/bus/pci/devices/0000:00:01.0/msi_irqs/28": "msix\n"}
DEBUG = "/sys/kernel/debug/irq/irqs"


def test_the_flag_over_the_poll_cores_passes(tmp_path: Path) -> None:
    files = CORES | MESSAGE | {CMDLINE: "isolcpus=domain,managed_irq,2-N\n"}

    assert judge(CHECK, tmp_path, files).state is State.PASS


def test_isolcpus_without_the_flag_fails(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, CORES | MESSAGE | {CMDLINE: "isolcpus=2-3\n"})

    assert finding.state is State.FAIL
    boot, by_hand = CHECK.propose(tree(tmp_path, {}), POLL)
    assert str(boot.boot[0]) == "isolcpus=managed_irq,2-3"
    assert "combined 2" in by_hand.by_hand


def test_debugfs_tells_that_none_is_managed(tmp_path: Path) -> None:
    files = MESSAGE | {CMDLINE: "quiet\n", f"{DEBUG}/28": "dstate: 0x1\n IRQD_ACTIVATED\n"}

    assert judge(CHECK, tmp_path, files).state is State.NOT_APPLICABLE


def test_debugfs_tells_how_many_are_managed(tmp_path: Path) -> None:
    files = MESSAGE | {CMDLINE: "quiet\n", f"{DEBUG}/28": "IRQD_AFFINITY_MANAGED\n"}

    finding = judge(CHECK, tmp_path, files)

    assert finding.state is State.FAIL
    assert "1 managed" in finding.observed


def test_a_machine_without_messages_has_no_managed_interrupt(tmp_path: Path) -> None:
    files = {CMDLINE: "quiet\n", "/sys/bus/pci/devices/0000:00:01.0/vendor": "0x1\n"}

    assert judge(CHECK, tmp_path, files).state is State.NOT_APPLICABLE


def test_a_list_the_kernel_cannot_read_covers_nothing(tmp_path: Path) -> None:
    files = CORES | MESSAGE | {CMDLINE: "isolcpus=managed_irq,2-x\n"}

    assert judge(CHECK, tmp_path, files).state is State.FAIL


def test_without_a_command_line_nothing_is_known(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, MESSAGE).state is State.UNKNOWN
