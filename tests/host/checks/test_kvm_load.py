from dataclasses import replace

from check_rows import KVM_HOST, bad, each, good, unseen
from guest_tree import guest
from taut.host.situation import Situation, TraceEvent, Watched

CPU = "/sys/devices/system/cpu"
AT = "/proc/irq/24/effective_affinity_list"
QUIET = {
    f"{CPU}/online": "0-3\n",
    f"{CPU}/isolated": "2-3\n",
    f"{CPU}/nohz_full": "2-3\n",
    AT: "0\n",
    "/sys/kernel/irq/24/actions": "eth0-rx\n",
}
LOUD = QUIET | {f"{CPU}/isolated": "2\n", f"{CPU}/nohz_full": "(null)\n", AT: "3\n"}
NOBODY = replace(KVM_HOST, cores=())
EXITS = "/sys/kernel/debug/kvm/700-12/exits"


def counted(before: str, after: str, seconds: float = 5.0, on: Situation = NOBODY) -> Situation:
    return replace(on, watched=Watched(seconds, {EXITS: before}, {EXITS: after}))


def traced(count: int) -> Situation:
    fields = "reason EXTERNAL_INTERRUPT rip 0xffffffff81 info 0 80000"
    events = [TraceEvent(3, "CPU 1/KVM", 702, "kvm_exit", fields)] * count
    return replace(KVM_HOST, watched=Watched(5.0), events=events)


ROWS = (
    good("V11", QUIET, on=KVM_HOST),
    bad(
        "V11",
        LOUD,
        "cores 3 not isolated (K04); 2-3 with a tick (K06); 3 with device interrupts (R02)",
        on=KVM_HOST,
        cores=(2, 3),
        does=("K04, K06 and R02",),
    ),
    good(
        "V11",
        QUIET | {f"{CPU}/isolated": "\n", "/sys/fs/cgroup/cpuset.cpus.isolated": "2-3\n"},
        on=KVM_HOST,
    ),
    # Kernels before 6.7 do not sum partitions up.
    good(
        "V11",
        QUIET
        | {
            f"{CPU}/isolated": "\n",
            "/sys/fs/cgroup/taut/cpuset.cpus.partition": "isolated\n",
            "/sys/fs/cgroup/taut/cpuset.cpus": "2-3\n",
        },
        on=KVM_HOST,
    ),
    # An interrupt nobody asked for does not count.
    good("V11", QUIET | {AT: "3\n", "/sys/kernel/irq/24/actions": "\n"}, on=KVM_HOST),
    # Nor does one of a guest's own device.
    good("V11", QUIET | {AT: "3\n", "/sys/kernel/irq/24/actions": "vfio-msix[0]\n"}, on=KVM_HOST),
    # Cores nobody named are those a guest is pinned to.
    good("V11", QUIET | guest(), on=NOBODY, cores=(2, 3)),
    unseen("V11", QUIET, "--cores", on=NOBODY),
    unseen("V11", {}, on=KVM_HOST),
    bad(
        "V11",
        QUIET | {f"{CPU}/isolated": "0-99999999999\n", f"{CPU}/nohz_full": "3-x\n"},
        on=KVM_HOST,
    ),
    good("V12", {}, "guest 700-12: 4 exits/s", on=counted("1000\n", "1020\n")),
    bad("V12", {}, "1000 exits/s", on=counted("1000\n", "6000\n")),
    # Events tell the core and the reason.
    bad(
        "V12",
        {},
        "core 3: 500 exits/s",
        "EXTERNAL_INTERRUPT 2500",
        on=traced(2500),
        cores=(3,),
    ),
    good("V12", {}, on=traced(10)),
    # A counter of the whole guest does not name the core.
    unseen("V12", {}, "--trace", on=counted("0\n", "900\n", 1.0, KVM_HOST)),
    unseen("V12", {}, "--watch", on=NOBODY),
    unseen("V12", {}, on=counted("many\n", "more\n")),
    unseen("V12", {}, on=counted("1\n", "2\n", 0.0)),
)

test_kvm_load = each(ROWS)
