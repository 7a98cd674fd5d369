import errno
from dataclasses import replace
from pathlib import Path

import pytest

from check_rows import BY_ID, CONTAINER, NOBODY, bad, each, good, odd, skipped, unseen
from host_tree import POLL, SLEEP, Link, TreeWriter, judge, tree
from taut.host.check import State
from taut.host.situation import Situation, Waiting, Watched

CHECK = BY_ID["R02"]
CMDLINE = "/proc/cmdline"
DEFAULT = "/proc/irq/default_smp_affinity"
INTERRUPTS = "/proc/interrupts"
DEBUG = "/sys/kernel/debug/irq/irqs"
MESSAGE = {"/sys/bus/pci/devices/0000:00:01.0/msi_irqs/28": "msix\n"}
MANAGED = {f"{DEBUG}/36": "handler: x\ndstate: 0x1\n   IRQD_AFFINITY_MANAGED\n"}
BEFORE = """\
           CPU0       CPU1       CPU2       CPU3
 36:         10          0          5          0  PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
LOC:        100        100        100        100   Local timer interrupts
ERR:          0
"""
ONCE_MORE = BEFORE.replace("          5          0", "          6          0")
OFTEN = BEFORE.replace("          5          0", "       3405          0")
TICKING = BEFORE.replace("LOC:        100        100", "LOC:       9100       9100")
# The interrupts of eth0 wake a device that sleeps.
SLEEPS = replace(SLEEP, interfaces=("eth0",))


def booted(line: str) -> dict[str, str]:
    return MESSAGE | {"/sys/devices/system/cpu/possible": "0-3\n", CMDLINE: f"{line}\n"}


def irq(number: int, action: str, allowed: str, effective: str, hwirq: int = 1) -> dict[str, str]:
    return {
        f"/sys/kernel/irq/{number}/actions": f"{action}\n",
        f"/sys/kernel/irq/{number}/hwirq": f"{hwirq}\n",
        f"/sys/kernel/irq/{number}/chip_name": "PCI-MSIX-0000:00:02.0\n",
        f"/proc/irq/{number}/smp_affinity_list": f"{allowed}\n",
        f"/proc/irq/{number}/effective_affinity_list": f"{effective}\n",
    }


def watched(after: str) -> Situation:
    return replace(POLL, watched=Watched(10.0, {INTERRUPTS: BEFORE}, {INTERRUPTS: after}))


PRIVATE = irq(11, "arch_timer", "0-3", "0-3", 27) | {"/sys/kernel/irq/11/chip_name": "GICv3\n"}
WAKES = {"/sys/class/net/eth0/device/msi_irqs/36": ""}
TWO = irq(36, "eth0-rx-0", "2", "2") | irq(37, "nvme0q3", "3", "3") | WAKES
# A card's own interrupt, and that of the root port above it; of virtio, the PCI function's.
PORT = "/sys/devices/pci0000:3a/0000:3a:00.0"
BELOW_PORT = {
    f"{PORT}/0000:3b:00.0/msi_irqs/36": "msix\n",
    f"{PORT}/msi_irqs/30": "msi\n",
    "/sys/class/net/eth0/device": Link("../../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0"),
}
VIRTIO = {
    f"{PORT}/virtio1/features": "",
    f"{PORT}/msi_irqs/36": "msix\n",
    "/sys/class/net/eth0/device": Link("../../../devices/pci0000:3a/0000:3a:00.0/virtio1"),
}

ROWS = (
    good("K05", booted("isolcpus=domain,managed_irq,2-N")),
    bad(
        "K05",
        booted("isolcpus=2-3"),
        remedies="boot by-hand",
        does=("isolcpus=managed_irq,2-3", "combined 2"),
    ),
    skipped("K05", booted("quiet") | {f"{DEBUG}/28": "dstate: 0x1\n IRQD_ACTIVATED\n"}),
    bad("K05", booted("quiet") | MANAGED, "1 managed"),
    skipped("K05", {CMDLINE: "quiet\n", "/sys/bus/pci/devices/0000:00:01.0/vendor": "0x1\n"}),
    bad("K05", booted("isolcpus=managed_irq,2-x")),
    unseen("K05", MESSAGE, "no command line"),
    *(good("K12", {DEFAULT: f"{mask}\n"}) for mask in ("3", "00000003", "00000000,00000003")),
    *(
        bad(
            "K12",
            {DEFAULT: f"{mask}\n"},
            remedies="now boot",
            does=("irqaffinity=0-1", f"{DEFAULT} = 3"),
            mends=True,
        )
        for mask in ("f", "ffffffff,ffffffff", "0000000b")
    ),
    bad("K12", {DEFAULT: "f\n"}, on=NOBODY, remedies=""),
    unseen("K12", {DEFAULT: "3\n"}, on=NOBODY),
    skipped("K12", {}),
    *odd("K12", DEFAULT, "0-3\n"),
    good(
        "R02",
        irq(36, "virtio1-req.0", "0-3", "0") | irq(37, "virtio2-input.0", "0-1", "1"),
        "2 device interrupts",
    ),
    bad(
        "R02",
        irq(36, "nvme0q3", "2-3", "2", 3) | irq(24, "acpi", "0-1", "0"),
        "1 of 2 device interrupts: nvme0q3 (IRQ 36, hwirq 3) on core 2",
        cores=(2,),
        remedies="now boot",
        does=("/proc/irq/36/smp_affinity_list = 0-1", "R01-now K12-now R03-now", "irqaffinity=0-1"),
        mends=True,
    ),
    # One that may come is moved along.
    bad(
        "R02",
        irq(36, "eth0-rx-0", "2", "2") | irq(37, "eth0-rx-1", "0-3", "1"),
        does=("/36/smp_affinity_list = 0-1", "/37/smp_affinity_list = 0-1"),
    ),
    bad(
        "R02",
        irq(36, "nvme0q3", "2", "2") | MANAGED,
        "unmovable",
        remedies="boot by-hand",
        does=("isolcpus=managed_irq,2-3",),
    ),
    # A managed one that stays silent does no harm.
    good("R02", irq(36, "nvme0q3", "2", "2") | MANAGED, on=watched(BEFORE)),
    bad(
        "R02",
        irq(30, "idle", "2", "2") | irq(36, "virtio1-req.0", "2", "2"),
        "virtio1-req.0 (IRQ 36, hwirq 1) on core 2 340/s, idle",
        on=watched(OFTEN),
    ),
    # It fired there, wherever it is now.
    bad("R02", irq(36, "virtio1-req.0", "0-3", "0"), on=watched(ONCE_MORE), cores=(2,)),
    # It was told to move, and passes until it fires there.
    good("R02", irq(36, "virtio1-req.0", "0-1", "2"), "1 idle ones"),
    bad("R02", irq(36, "virtio1-req.0", "0-1", "2"), on=watched(ONCE_MORE)),
    # Rows of the cores themselves are no devices.
    good("R02", PRIVATE | irq(36, "eth0", "0", "0"), "1 device interrupts", on=watched(TICKING)),
    good("R02", irq(27, "", "2", "2")),
    good("R02", irq(60, "vfio-msix[0](0000:3b:00.0)", "2", "2")),
    *(
        unseen("R02", irq(36, "eth0", text, text), "eth0 (IRQ 36")
        for text in ("everywhere", "2-x", "\x80\x00")
    ),
    *(
        good("R02", irq(36, "eth0", "0", "0"), on=watched(text))
        for text in ("", "\x00\x01", "CPU0 CPUx\n36: many\n: 1\n")
    ),
    skipped("R02", {}),
    bad("R02", irq(36, "eth0", "2", "2"), on=replace(POLL, cores=POLL.online), remedies=""),
    unseen("R02", irq(36, "eth0", "2", "2"), "--cores", on=NOBODY),
    bad("R02", irq(36, "eth0", "2", "2"), on=CONTAINER, remedies="by-hand"),
    bad("R02", TWO, "1 of 1 device interrupts: nvme0q3", on=SLEEPS, does=("/37/smp_affinity",)),
    bad(
        "R02",
        irq(30, "pcieport", "2", "2") | irq(36, "eth0-rx-0", "2", "2") | BELOW_PORT,
        "1 of 1 device interrupts: pcieport (IRQ 30",
        on=SLEEPS,
    ),
    good("R02", irq(36, "virtio1-input.0", "2", "2") | VIRTIO, on=SLEEPS),
    bad("R02", TWO, "2 of 2", on=replace(SLEEPS, waiting=frozenset(Waiting))),
)

test_interrupts = each(ROWS)


def test_a_refusal_is_the_drivers_right(tmp_path: Path) -> None:
    host = tree(tmp_path, irq(36, "nvme0q3", "2", "2"))
    setting = CHECK.propose(host, POLL)[0].changes[0].setting
    writer = TreeWriter(host, refusals={setting.name: errno.EIO})

    with pytest.raises(OSError, match="smp_affinity_list") as error:
        setting.write(writer, "0-1")
    assert setting.unmovable(error.value)


def test_a_mask_that_is_read_only_is_unmovable(tmp_path: Path) -> None:
    host = tree(tmp_path, irq(36, "virtio1-req.0", "2", "2") | irq(37, "eth0", "2", "2"))
    (tmp_path / "proc/irq/36/smp_affinity_list").chmod(0o444)

    now, _, by_hand = CHECK.propose(host, POLL)

    assert [change.setting.name for change in now.changes] == ["/proc/irq/37/smp_affinity_list"]
    assert by_hand.by_hand.startswith("virtio1-req.0 (IRQ 36, hwirq 1): spread by the driver")


def test_older_kernels_show_actions_as_folders_and_no_effective_list(tmp_path: Path) -> None:
    files = {"/proc/irq/9/smp_affinity_list": "2-3\n", "/proc/irq/9/spurious": "count 0\n"}
    (tmp_path / "proc/irq/9/acpi").mkdir(parents=True)

    finding = judge(CHECK, tmp_path, files)

    assert finding.state is State.FAIL
    assert "acpi (IRQ 9) on core 2-3" in finding.observed
