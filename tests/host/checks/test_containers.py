from dataclasses import replace

from check_rows import CONTAINER, bad, each, good, skipped, unseen
from taut.host.situation import Waiting, Watched

CPU = "/sys/devices/system/cpu"
CPUSET = "/sys/fs/cgroup/cpuset.cpus.effective"
STATUS = "/proc/self/status"
MACHINE = {f"{CPU}/online": "0-3\n"} | {
    f"{CPU}/cpu{core}/topology/thread_siblings_list": f"{core // 2 * 2}-{core // 2 * 2 + 1}\n"
    for core in range(4)
}
AS_A_PATH = {
    "/proc/self/cgroup": "0::/pod1\n",
    "/sys/fs/cgroup/pod1/cpuset.cpus.effective": "0-3",
}
AT = "/proc/irq/24/effective_affinity_list"
ACTIONS = "/sys/kernel/irq/24/actions"
MOUNTS = "/proc/self/mounts"
PROC = "proc /proc proc rw,nosuid 0 0\n"
CLOSED = f"{PROC}proc /proc/sys proc ro 0 0\nsysfs /sys sysfs ro,nosuid 0 0\n"
PAGES = "/sys/fs/cgroup/hugetlb.2MB.max"
PARANOID = "/proc/sys/kernel/perf_event_paranoid"
EVENT = {"/sys/kernel/tracing/events/timer/tick_stop/id": "1\n"}
NO_RIGHTS = {STATUS: "CapEff:\t00000000a80425fb\nSeccomp:\t2\n", PARANOID: "2\n"}
PERFMON = {STATUS: "CapEff:\t0000004000000000\nSeccomp:\t2\n", PARANOID: "2\n"}
PARTITION = "/sys/fs/cgroup/cpuset.cpus.partition"
BROKE = Watched(5.0, {PARTITION: "isolated"}, {PARTITION: "isolated invalid (hotplug)"})


def irq(at: str, actions: str = "eth0-rx") -> dict[str, str]:
    return {AT: f"{at}\n", ACTIONS: f"{actions}\n"}


def limits(text: str, process: str = "self") -> dict[str, str]:
    head = "Limit                     Soft Limit           Hard Limit           Units\n"
    line = f"Max locked memory         {text:20} {text:20} bytes\n" if text else ""
    return {f"/proc/{process}/limits": head + line}


def may(rights: str) -> dict[str, str]:
    return {STATUS: f"CapEff:\t{rights}\n"}


ROWS = (
    good("C01", MACHINE | {CPUSET: "2-3\n", f"{CPU}/isolated": "2-3\n"}, on=CONTAINER),
    bad(
        "C01",
        MACHINE | {CPUSET: "0-3\n"},
        "every core of the machine",
        on=CONTAINER,
        remedies="by-hand",
        does=("full-pcpus-only",),
    ),
    bad("C01", MACHINE | {CPUSET: "1-3\n"}, on=CONTAINER, cores=(1,)),
    # Who else has the cores is not seen from inside.
    unseen("C01", MACHINE | {CPUSET: "2-3\n"}, "on the host", on=CONTAINER),
    bad("C01", MACHINE | AS_A_PATH, on=CONTAINER),
    bad("C01", MACHINE | {STATUS: "Cpus_allowed_list:\t0-3\n"}, on=CONTAINER),
    *(
        unseen("C01", MACHINE | {CPUSET: text}, on=CONTAINER)
        for text in ("", "many\n", "0-99999999999\n")
    ),
    unseen("C01", {}, on=CONTAINER),
    good("C02", irq("0"), on=CONTAINER),
    bad(
        "C02",
        irq("3"),
        "IRQ 24 on core 3",
        on=CONTAINER,
        cores=(3,),
        does=("irq-load-balancing.crio.io",),
    ),
    # Cores nobody named are those we may run on.
    bad(
        "C02",
        irq("1") | {STATUS: "Cpus_allowed_list:\t1-2\n"},
        on=replace(CONTAINER, cores=()),
        cores=(1,),
    ),
    good("C02", irq("3", ""), on=CONTAINER),
    unseen("C02", {}, on=CONTAINER),
    unseen("C02", irq("x"), on=CONTAINER),
    good("C03", {MOUNTS: f"{PROC}sysfs /sys sysfs rw,nosuid 0 0\n"}, on=CONTAINER),
    bad(
        "C03",
        {MOUNTS: CLOSED},
        "read-only: /sys, /proc/sys",
        on=CONTAINER,
        remedies="by-hand",
        does=("taut host plan --role poll-core --cores 2-3",),
    ),
    bad(
        "C03",
        {MOUNTS: CLOSED},
        on=replace(CONTAINER, waiting=frozenset({Waiting.SLEEPS})),
        does=("--cores 2-3 --device sleeps, then apply",),
    ),
    unseen("C03", {}, on=CONTAINER),
    *(unseen("C03", {MOUNTS: text}, on=CONTAINER) for text in ("", "sysfs\n", "a b c d\n")),
    good("C04", limits("unlimited") | {PAGES: "max\n"}, "2MB max", on=CONTAINER),
    bad(
        "C04",
        limits("65536"),
        "process self may lock 65536 bytes",
        on=CONTAINER,
        does=("--ulimit memlock=-1",),
    ),
    bad("C04", limits("unlimited") | {PAGES: "0\n"}, "no hugepage", on=CONTAINER),
    good(
        "C04",
        limits("unlimited") | {PAGES: "0\n", "/sys/fs/cgroup/hugetlb.1GB.max": "1073741824\n"},
        on=CONTAINER,
    ),
    # The programs that poll count.
    bad(
        "C04",
        limits("unlimited") | limits("1024", "77"),
        "process 77 may lock 1024",
        on=replace(CONTAINER, processes=(77,)),
    ),
    good("C04", limits("65536") | may("0000000000004000"), on=CONTAINER),
    bad("C04", limits("65536") | may("0000000000003fff"), on=CONTAINER),
    *(unseen("C04", files, on=CONTAINER) for files in ({}, limits(""), limits("lots"))),
    good("C05", PERFMON | EVENT, on=CONTAINER),
    good("C05", NO_RIGHTS | EVENT | {PARANOID: "1\n"}, on=CONTAINER),
    bad(
        "C05", NO_RIGHTS | EVENT, "seccomp filters", on=CONTAINER, does=("on the host", "sees the")
    ),
    bad("C05", PERFMON, on=CONTAINER),
    unseen("C05", {}, on=CONTAINER),
    unseen("C05", NO_RIGHTS | {PARANOID: "x\n"}, on=CONTAINER),
    unseen("C05", NO_RIGHTS | {STATUS: "CapEff: ?\nSeccomp: 0\n"}, on=CONTAINER),
    good("C06", {PARTITION: "isolated\n"}, on=CONTAINER),
    good("C06", {PARTITION: "root\n"}, on=CONTAINER),
    bad(
        "C06",
        {PARTITION: "isolated invalid (Cpu list in cpuset.cpus not exclusive)\n"},
        "isolated invalid (Cpu list in cpuset.cpus not exclusive)",
        on=CONTAINER,
        does=("write isolated",),
    ),
    bad("C06", {PARTITION: "root invalid\n"}, on=CONTAINER),
    bad("C06", {PARTITION: "isolated\n"}, "hotplug", on=replace(CONTAINER, watched=BROKE)),
    skipped("C06", {PARTITION: "member\n"}, on=CONTAINER),
    skipped("C06", {}, on=CONTAINER),
    unseen("C06", {PARTITION: "whatever\n"}, on=CONTAINER),
)

test_containers = each(ROWS)
