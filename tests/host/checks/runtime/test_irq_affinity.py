import errno
from dataclasses import replace
from pathlib import Path

from host_tree import POLL, SLEEP, TreeWriter, judge, remedied, tree
from taut.host.check import State
from taut.host.checks.runtime.irq_affinity import CHECK
from taut.host.host import Host
from taut.host.situation import Role, Waiting, Watched

INTERRUPTS = "/proc/interrupts"
BEFORE = """\
           CPU0       CPU1       CPU2       CPU3
 36:         10          0          5          0  PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
LOC:        100        100        100        100   Local timer interrupts
ERR:          0
"""


def irq(number: int, action: str, allowed: str, effective: str, hwirq: int = 1) -> dict[str, str]:
    return {
        f"/sys/kernel/irq/{number}/actions": f"{action}\n",
        f"/sys/kernel/irq/{number}/hwirq": f"{hwirq}\n",
        f"/sys/kernel/irq/{number}/chip_name": "PCI-MSIX-0000:00:02.0\n",
        f"/proc/irq/{number}/smp_affinity_list": f"{allowed}\n",
        f"/proc/irq/{number}/effective_affinity_list": f"{effective}\n",
    }


def watched(after: str) -> Watched:
    return Watched(10.0, {INTERRUPTS: BEFORE}, {INTERRUPTS: after})


def test_interrupts_of_other_cores_pass_wherever_they_may_go(tmp_path: Path) -> None:
    files = irq(36, "virtio1-req.0", "0-3", "0") | irq(37, "virtio2-input.0", "0-1", "1")

    finding = judge(CHECK, tmp_path, files)

    assert finding.state is State.PASS
    assert "2 device interrupts" in finding.observed


def test_what_comes_to_a_polling_core_is_named_and_moved(tmp_path: Path) -> None:
    files = irq(36, "nvme0q3", "2-3", "2", 3) | irq(24, "acpi", "0-1", "0")
    finding = judge(CHECK, tmp_path, files)
    assert finding.state is State.FAIL
    assert finding.cores == (2,)
    assert "1 of 2 device interrupts: nvme0q3 (IRQ 36, hwirq 3) on core 2" in finding.observed

    with remedied(CHECK, tmp_path) as remedies:
        now, boot = remedies
        assert [change.wanted for change in now.changes] == ["0-1"]
        assert now.changes[0].setting.name == "/proc/irq/36/smp_affinity_list"
        assert "K12-now" in now.after
        assert str(boot.boot[0]) == "irqaffinity=0-1"


def test_one_that_may_come_is_moved_along(tmp_path: Path) -> None:
    host = tree(tmp_path, irq(36, "eth0-rx-0", "2", "2") | irq(37, "eth0-rx-1", "0-3", "1"))

    changes = CHECK.propose(host, POLL)[0].changes

    assert [(change.setting.name, change.wanted) for change in changes] == [
        ("/proc/irq/36/smp_affinity_list", "0-1"),
        ("/proc/irq/37/smp_affinity_list", "0-1"),
    ]


def test_a_refusal_is_the_drivers_right(tmp_path: Path) -> None:
    host = tree(tmp_path, irq(36, "nvme0q3", "2", "2"))
    setting = CHECK.propose(host, POLL)[0].changes[0].setting
    writer = TreeWriter(host, refusals={setting.name: errno.EIO})

    try:
        setting.write(writer, "0-1")
    except OSError as error:
        assert setting.unmovable(error)
    else:
        raise AssertionError("the tree took it")


def test_a_managed_one_is_unmovable_and_left_alone(tmp_path: Path) -> None:
    debug = {"/sys/kernel/debug/irq/irqs/36": "handler: x\ndstate: 0x1\n   IRQD_AFFINITY_MANAGED\n"}
    finding = judge(CHECK, tmp_path, irq(36, "nvme0q3", "2", "2") | debug)
    assert finding.state is State.FAIL
    assert "unmovable" in finding.observed

    remedies = CHECK.propose(Host(tmp_path), POLL)

    assert [remedy.id for remedy in remedies] == ["R02-boot", "R02-by-hand"]
    assert "isolcpus=managed_irq,2-3" in remedies[1].by_hand


def test_a_mask_that_is_read_only_is_one_of_those(tmp_path: Path) -> None:
    host = tree(tmp_path, irq(36, "virtio1-req.0", "2", "2") | irq(37, "eth0", "2", "2"))
    (tmp_path / "proc/irq/36/smp_affinity_list").chmod(0o444)

    now, _, by_hand = CHECK.propose(host, POLL)

    assert [change.setting.name for change in now.changes] == ["/proc/irq/37/smp_affinity_list"]
    assert by_hand.by_hand.startswith("virtio1-req.0 (IRQ 36, hwirq 1): spread by the driver")


def test_a_managed_one_that_stays_silent_passes(tmp_path: Path) -> None:
    debug = {"/sys/kernel/debug/irq/irqs/36": "IRQD_AFFINITY_MANAGED\n"}
    situation = replace(POLL, watched=watched(BEFORE))

    finding = judge(CHECK, tmp_path, irq(36, "nvme0q3", "2", "2") | debug, situation)

    assert finding.state is State.PASS


def test_the_busiest_come_first_with_their_rate(tmp_path: Path) -> None:
    after = BEFORE.replace("          5          0", "       3405          0")
    files = irq(30, "idle", "2", "2") | irq(36, "virtio1-req.0", "2", "2")

    finding = judge(CHECK, tmp_path, files, replace(POLL, watched=watched(after)))

    assert "virtio1-req.0 (IRQ 36, hwirq 1) on core 2 340/s, idle" in finding.observed


def test_one_that_fired_there_while_watched_fails_wherever_it_is_now(tmp_path: Path) -> None:
    after = BEFORE.replace("          5          0", "          6          0")
    files = irq(36, "virtio1-req.0", "0-3", "0")

    finding = judge(CHECK, tmp_path, files, replace(POLL, watched=watched(after)))

    assert finding.state is State.FAIL
    assert finding.cores == (2,)


def test_one_that_was_told_to_move_passes_until_it_fires_there(tmp_path: Path) -> None:
    files = irq(36, "virtio1-req.0", "0-1", "2")
    finding = judge(CHECK, tmp_path, files)
    assert finding.state is State.PASS
    assert "1 idle ones" in finding.observed

    after = BEFORE.replace("          5          0", "          6          0")
    situation = replace(POLL, watched=watched(after))
    assert judge(CHECK, tmp_path, files, situation).state is State.FAIL


def test_rows_of_the_cores_themselves_are_no_devices(tmp_path: Path) -> None:
    after = BEFORE.replace("LOC:        100        100", "LOC:       9100       9100")
    private = irq(11, "arch_timer", "0-3", "0-3", 27)
    private["/sys/kernel/irq/11/chip_name"] = "GICv3\n"

    finding = judge(
        CHECK,
        tmp_path,
        private | irq(36, "eth0", "0", "0"),
        replace(POLL, watched=watched(after)),
    )

    assert finding.state is State.PASS
    assert "1 device interrupts" in finding.observed


def test_nobody_waits_for_an_interrupt_without_action(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, irq(27, "", "2", "2")).state is State.PASS


def test_those_the_poller_drives_itself_are_its_own(tmp_path: Path) -> None:
    files = irq(60, "vfio-msix[0](0000:3b:00.0)", "2", "2")

    assert judge(CHECK, tmp_path, files).state is State.PASS


def test_older_kernels_show_actions_as_folders_and_no_effective_list(tmp_path: Path) -> None:
    files = {
        "/proc/irq/9/smp_affinity_list": "2-3\n",
        "/proc/irq/9/spurious": "count 0\n",
    }
    (tmp_path / "proc/irq/9/acpi").mkdir(parents=True)

    finding = judge(CHECK, tmp_path, files)

    assert finding.state is State.FAIL
    assert "acpi (IRQ 9) on core 2-3" in finding.observed


def test_an_affinity_that_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    for text in ("everywhere", "2-x", "\x80\x00"):
        finding = judge(CHECK, tmp_path, irq(36, "eth0", text, text))
        assert finding.state is State.UNKNOWN, text
        assert "eth0 (IRQ 36" in finding.observed


def test_counts_that_are_none_do_no_harm(tmp_path: Path) -> None:
    for text in ("", "\x00\x01", "CPU0 CPUx\n36: many\n: 1\n"):
        situation = replace(POLL, watched=watched(text))
        finding = judge(CHECK, tmp_path, irq(36, "eth0", "0", "0"), situation)
        assert finding.state is State.PASS, text


def test_a_kernel_without_interrupts_in_proc_has_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


def test_without_a_housekeeping_core_nothing_is_moved(tmp_path: Path) -> None:
    host = tree(tmp_path, irq(36, "eth0", "2", "2"))

    assert CHECK.propose(host, replace(POLL, cores=POLL.online)) == ()


def test_with_no_polling_core_named_it_asks_for_them(tmp_path: Path) -> None:
    nobody = replace(POLL, cores=())
    finding = judge(CHECK, tmp_path, irq(36, "eth0", "2", "2"), nobody)

    assert finding.state is State.UNKNOWN
    assert "--cores" in finding.needs


def test_a_container_leaves_it_to_the_host(tmp_path: Path) -> None:
    container = replace(POLL, role=Role.CONTAINER)
    assert judge(CHECK, tmp_path, irq(36, "eth0", "2", "2"), container).state is State.FAIL

    (remedy,) = CHECK.propose(Host(tmp_path), container)

    assert remedy.id == "R02-by-hand"
    assert not remedy.changes


def test_what_wakes_a_device_that_sleeps_stays_where_it_is(tmp_path: Path) -> None:
    sleeps = replace(SLEEP, interfaces=("eth0",))
    device = "/sys/class/net/eth0/device/msi_irqs"
    files = irq(36, "eth0-rx-0", "2", "2") | irq(37, "nvme0q3", "3", "3") | {f"{device}/36": ""}

    finding = judge(CHECK, tmp_path, files, sleeps)
    moved = [change.setting.name for change in CHECK.propose(Host(tmp_path), sleeps)[0].changes]

    assert "1 of 1 device interrupts: nvme0q3" in finding.observed
    assert moved == ["/proc/irq/37/smp_affinity_list"]
    both = replace(sleeps, waiting=frozenset(Waiting))
    assert "2 of 2" in judge(CHECK, tmp_path, files, both).observed
