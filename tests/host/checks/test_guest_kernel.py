from dataclasses import replace
from pathlib import Path

import pytest

from check_rows import BY_ID, GUEST, bad, each, good, skipped, unseen
from host_threads import KERNEL, thread_files
from host_tree import BARE_METAL, SLEEP, judge, tree
from taut.host.check import Severity
from taut.host.situation import Role, Situation, Waiting, Watched

CPU = "/sys/devices/system/cpu"
INTERRUPTS = "/proc/interrupts"
CMDLINE, DMESG = "/proc/cmdline", "/commands/dmesg"
DEDICATED = {DMESG: "[    0.1] kvm-guest: PV spinlocks disabled with KVM_HINTS_REALTIME hints\n"}
SHARED = {DMESG: "[    0.1] kvm-guest: KVM setup pv remote TLB flush\n[ 0.2] kvm-guest: PV IPIs\n"}
OVERWRITTEN = {DMESG: "[ 99.0] eth0: link up\n"}
OFFLOADED = {DMESG: "[0.0] Linux version 6\n[0.0] rcu: \tOffload RCU callbacks from CPUs: 2.\n"}
ARM = replace(GUEST, machine=replace(BARE_METAL, vendor="arm"))
ISOLATED, NOHZ = f"{CPU}/isolated", f"{CPU}/nohz_full"
IRQS = "/proc/irq/default_smp_affinity"
RCU = thread_files(20, "rcuog/2", "0-1", flags=KERNEL)
QUIET = {ISOLATED: "2-3\n", NOHZ: "2-3\n", IRQS: "3\n"} | RCU
TICKS = {ISOLATED: "2-3\n", IRQS: "3\n", CMDLINE: "quiet rcu_nocbs=2-3\n"} | RCU
ALL = {f"{CPU}/possible": "0-3\n", CMDLINE: "rcu_nocbs=all\n"}
NO_DOMAIN = "version 17\ncpu0 0\ndomain0 3 0\ncpu1 0\ndomain0 3 0\ncpu2 0\ncpu3 0\n"
NOBODY = replace(GUEST, cores=())
SLEEPS = replace(SLEEP, role=Role.KVM_GUEST)
VMWARE = replace(
    SLEEPS, machine=replace(BARE_METAL, hypervisor="VMware, Inc. VMware Virtual Platform")
)
BOTH = replace(SLEEPS, waiting=frozenset(Waiting))
GOVERNOR = f"{CPU}/cpuidle/current_governor"
AVAILABLE = f"{CPU}/cpuidle/available_governors"
POLL_NS = "/sys/module/haltpoll/parameters/guest_halt_poll_ns"
AT_ONCE = {GOVERNOR: "haltpoll\n", AVAILABLE: "menu haltpoll\n", POLL_NS: "0\n"}
MENU = {GOVERNOR: "menu\n", AVAILABLE: "ladder menu haltpoll\n", POLL_NS: "200000\n"}
VIRTIO0 = "/sys/bus/virtio/devices/virtio0"
NET = {"/sys/bus/virtio/devices/virtio1/device": "0x0001\n"}
BALLOON = {f"{VIRTIO0}/device": "0x0005\n", f"{VIRTIO0}/driver/module": ""}


def calls(n: int) -> dict[str, str]:
    text = f"           CPU0       CPU1\nHYP:  {n}  0   Hypervisor callback interrupts\nERR: 0\n"
    return {INTERRUPTS: text}


def reported(n: int) -> dict[str, str]:
    return {INTERRUPTS: f" 32:  {n}  0 PCI-MSIX-0000:00:01.0   4-edge      virtio0-reporting_vq\n"}


def watched(before: dict[str, str], after: dict[str, str]) -> Situation:
    return replace(GUEST, watched=Watched(5.0, before, after))


HYPER_V = replace(
    watched(calls(117), calls(120)),
    machine=replace(BARE_METAL, hypervisor="Microsoft Corporation Virtual Machine"),
)


ROWS = (
    good("G03", DEDICATED | calls(0), on=GUEST),
    bad(
        "G03",
        SHARED | calls(0),
        "pv remote TLB flush",
        on=GUEST,
        remedies="by-hand",
        does=("kvm-hint-dedicated=on",),
    ),
    bad(
        "G03",
        DEDICATED | calls(120),
        "120 since boot, 3 while watched",
        on=watched(calls(117), calls(120)),
        remedies="boot",
        does=("no-kvmapf",),
    ),
    # Call-backs of the past need a watch.
    unseen("G03", DEDICATED | calls(117), "--watch", on=GUEST),
    good("G03", DEDICATED | calls(117), on=watched(calls(117), calls(117))),
    unseen("G03", OVERWRITTEN | calls(0), on=GUEST),
    unseen("G03", {}, on=GUEST),
    unseen("G03", DEDICATED | {INTERRUPTS: "HYP: \x00\n"}, on=GUEST),
    skipped("G03", SHARED, on=ARM),
    skipped("G03", calls(120), "another hypervisor", on=HYPER_V),
    good("G04", QUIET, on=GUEST),
    *(
        bad("G04", {**QUIET, path: text}, words, on=GUEST, does=(parameter,))
        for path, text, words, parameter in (
            (ISOLATED, "\n", "2-3 not isolated", "isolcpus=domain,managed_irq,2-3"),
            (ISOLATED, "2\n", "3 not isolated", "isolcpus=domain,managed_irq,2-3"),
            (NOHZ, "(null)\n", "2-3 with tick", "nohz_full=2-3"),
            (NOHZ, "2\n", "3 with RCU callbacks", "rcu_nocbs=2-3"),
            (IRQS, "0000000b\n", "3 in the mask of new interrupts", "irqaffinity=0-1"),
        )
    ),
    good("G04", {**QUIET, ISOLATED: "\n", "/sys/fs/cgroup/cpuset.cpus.isolated": "2-3"}, on=GUEST),
    good("G04", {**QUIET, ISOLATED: "\n", "/proc/schedstat": NO_DOMAIN}, on=GUEST),
    # A kernel without nohz_full is not booted with it.
    bad(
        "G04",
        TICKS,
        "kernel without NO_HZ_FULL; poll cores",
        on=GUEST,
        remedies="by-hand boot",
        does=("NO_HZ_FULL",),
    ),
    # What the kernel said of RCU counts more than the command line.
    bad(
        "G04",
        {ISOLATED: "2-3\n", CMDLINE: "rcu_nocbs=2-3\n"} | OFFLOADED | RCU,
        "3 with RCU callbacks",
        on=GUEST,
    ),
    # Without a thread that runs them it was asked for in vain (the kernel has no RCU_NOCB_CPU).
    bad("G04", {ISOLATED: "2-3\n", CMDLINE: "rcu_nocbs=2-3\n"}, "2-3 with RCU", on=SLEEPS),
    bad("G04", {ISOLATED: "\n"}, on=NOBODY, remedies="by-hand"),
    unseen("G04", {ISOLATED: "2\n"}, on=NOBODY),
    unseen("G04", {}, on=GUEST),
    unseen("G04", {ISOLATED: "0-999999999\n"}, on=GUEST),
    unseen("G04", {ISOLATED: "2-3\n", NOHZ: "yes\n"}, on=GUEST),
    # A core that sleeps needs no nohz_full.
    good("G04", TICKS, on=SLEEPS),
    good("G04", TICKS | ALL, on=SLEEPS),
    good("G05", {GOVERNOR: "haltpoll\n", POLL_NS: "200000\n"}, on=NOBODY),
    bad("G05", AT_ONCE, on=NOBODY, does=(f"{POLL_NS} = 200000",), mends=True),
    *(
        bad("G05", AT_ONCE, on=situation, remedies="now boot", does=("recommended",), mends=True)
        for situation in (SLEEPS, BOTH)
    ),
    bad("G05", MENU, on=NOBODY, remedies="now boot", mends=True),
    bad("G05", {GOVERNOR: "menu\n"}, on=NOBODY, remedies="boot", does=("haltpoll.force=1",)),
    # Only guests of KVM have haltpoll.
    bad("G05", {GOVERNOR: "menu\n", POLL_NS: "0\n"}, on=VMWARE, remedies=""),
    bad("G05", {GOVERNOR: "menu\n", AVAILABLE: "menu\n"}, on=SLEEPS, remedies=""),
    skipped("G05", {GOVERNOR: "haltpoll\n", POLL_NS: "0\n"}, "polls 0 ns", on=GUEST),
    unseen("G05", {}, on=NOBODY),
    unseen("G05", {GOVERNOR: "haltpoll\n", POLL_NS: "long\n"}, on=NOBODY),
    good("G06", NET, on=GUEST),
    bad(
        "G06",
        {**NET, **BALLOON, **reported(9), f"{VIRTIO0}/features": "0110010\n"},
        "with free page reporting, 9 interrupts since boot, 5 while watched",
        on=watched(reported(4), reported(9)),
        does=("memballoon",),
    ),
    bad("G06", {**BALLOON, f"{VIRTIO0}/features": "0110000\n"}, "without free page", on=GUEST),
    bad(
        "G06",
        {f"{VIRTIO0}/device": "0x0018\n", f"{VIRTIO0}/driver/module": ""},
        "virtio0: virtio-mem",
        on=GUEST,
    ),
    # A balloon without a driver does nothing.
    good("G06", {f"{VIRTIO0}/device": "0x0005\n"}, on=GUEST),
    unseen("G06", {}, on=GUEST),
    unseen("G06", {f"{VIRTIO0}/device": "balloon\n"}, on=GUEST),
)

test_guest_kernel = each(ROWS)


@pytest.mark.parametrize(
    ("situation", "severity"),
    [(SLEEPS, Severity.MAJOR), (BOTH, Severity.MAJOR), (NOBODY, Severity.MINOR)],
)
def test_an_idle_core_costs_most_where_packets_wait_for_it(
    situation: Situation, severity: Severity, tmp_path: Path
) -> None:
    assert judge(BY_ID["G05"], tmp_path, AT_ONCE, situation).severity is severity


def test_what_is_in_force_is_not_asked_for_again(tmp_path: Path) -> None:
    assert not BY_ID["G04"].propose(tree(tmp_path, QUIET), GUEST)
