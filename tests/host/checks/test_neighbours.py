from dataclasses import replace

from check_rows import CONTAINER, GUEST, KVM_HOST, NOBODY, bad, each, good, skipped, unseen
from guest_tree import guest
from host_threads import BOUND, HIDDEN, KERNEL, thread_files
from host_tree import BARE_METAL, POLL
from taut.host.situation import Role, TraceEvent

POLLER = thread_files(500, "rte-worker-2", "2") | thread_files(501, "rte-worker-3", "3", pid=500)
ELSEWHERE = thread_files(600, "postgres", "0-1")
KERNEL_ONES = thread_files(20, "ksoftirqd/2", "2", flags=BOUND) | thread_files(
    21, "kswapd0", "0-3", flags=KERNEL
)
FOREIGN = thread_files(700, "cc1 (lto)", "0-3")
KNOWN = replace(POLL, processes=(500,))
UNPINNED = {"qemu-system-x86": "0-1", "CPU 0/KVM": "0-3", "CPU 1/KVM": "0-3"}
RESCTRL = "/sys/fs/resctrl"
CAN = replace(POLL, machine=replace(BARE_METAL, flags=frozenset({"cat_l3"})))


def switch(core: int, comm: str, pid: int) -> TraceEvent:
    fields = f"prev_comm=a b prev_pid=1 ==> next_comm={comm} next_pid={pid} next_prio=120"
    return TraceEvent(core, "x", 1, "sched_switch", fields)


SWITCHES = (
    *[switch(2, "cc1 (lto)", 700)] * 3,
    switch(2, "swapper/2", 0),
    switch(3, "kswapd0", 21),
    switch(1, "postgres", 600),
    switch(2, "gone", 999),
)
OF_GUEST = (switch(2, "CPU 0/KVM", 701),)


def groups(poll: str = "L3:0=00f;1=00f", rest: str = "L3:0=3f0;1=3f0") -> dict[str, str]:
    return {
        f"{RESCTRL}/schemata": f"    MB:0=100;1=100\n    {rest}\n",
        f"{RESCTRL}/cpus_list": "0-1\n",
        f"{RESCTRL}/poll/schemata": f"{poll}\n",
        f"{RESCTRL}/poll/cpus_list": "2-3\n",
        f"{RESCTRL}/info/L3/shareable_bits": "600\n",
        "/sys/devices/system/cpu/cpu2/cache/index3/id": "0\n",
        "/sys/devices/system/cpu/cpu3/cache/index3/id": "1\n",
    }


INFO_SHARED = f"{RESCTRL}/info/L3/shareable_bits"
UNGROUPED = {
    f"{RESCTRL}/schemata": "    MB:0=100;1=100\n    L3:0=7ff;1=7ff\n",
    f"{RESCTRL}/cpus_list": "0-3\n",
    f"{RESCTRL}/info/L3/cbm_mask": "7ff\n",
    f"{RESCTRL}/info/L3/min_cbm_bits": "2\n",
    f"{RESCTRL}/info/MB/min_bandwidth": "10\n",
    f"{RESCTRL}/info/MB/bandwidth_gran": "10\n",
    INFO_SHARED: "600\n",
    "/sys/devices/system/cpu/cpu2/cache/index3/id": "0\n",
    "/sys/devices/system/cpu/cpu3/cache/index3/id": "1\n",
}

INFO_SHARED = f"{RESCTRL}/info/L3/shareable_bits"
UNGROUPED = {
    f"{RESCTRL}/schemata": "    MB:0=100;1=100\n    L3:0=7ff;1=7ff\n",
    f"{RESCTRL}/cpus_list": "0-3\n",
    f"{RESCTRL}/info/L3/cbm_mask": "7ff\n",
    f"{RESCTRL}/info/L3/min_cbm_bits": "2\n",
    f"{RESCTRL}/info/MB/min_bandwidth": "10\n",
    f"{RESCTRL}/info/MB/bandwidth_gran": "10\n",
    INFO_SHARED: "600\n",
    "/sys/devices/system/cpu/cpu2/cache/index3/id": "0\n",
    "/sys/devices/system/cpu/cpu3/cache/index3/id": "1\n",
}

ROWS = (
    good("R24", POLLER | ELSEWHERE | KERNEL_ONES, "none of 3 threads may run on 2-3"),
    bad(
        "R24",
        POLLER | ELSEWHERE | KERNEL_ONES | FOREIGN,
        "1 threads may run on 2-3: cc1 (lto) (700)",
        remedies="now boot",
        does=("affinity of cc1 (lto) (700) = 0-1", "systemd.cpu_affinity=0-1"),
        mends=True,
    ),
    # Other threads of the polling program are its own.
    good("R24", POLLER | thread_files(502, "eal-intr-thread", "0-3", pid=500), on=KNOWN),
    # Who is pinned to the core of a polling program is moved too.
    bad(
        "R24",
        POLLER | thread_files(800, "hog", "3"),
        "1 threads may run on 2-3: hog (800)",
        on=KNOWN,
        remedies="now boot",
        does=("affinity of hog (800) = 0-1", "1 of them are pinned there"),
    ),
    # Who is pinned beside nobody known to poll stays.
    good(
        "R24",
        thread_files(800, "my-poller", "3") | thread_files(900, "rte-worker-2", "2"),
        on=replace(POLL, processes=(900,)),
    ),
    bad(
        "R24",
        POLLER | thread_files(502, "rte-worker-4", "3", pid=500),
        "core 3 has 2 threads of its own",
        remedies="by-hand",
    ),
    # A kernel thread that ran, as kswapd0 did, is not named.
    bad(
        "R24",
        POLLER | ELSEWHERE | KERNEL_ONES | FOREIGN,
        "ran there while traced: cc1 (lto) (3 times); one thread",
        on=replace(POLL, events=SWITCHES),
    ),
    # Virtual CPUs that V01 places are its own, wherever they may run. All others are moved off:
    # where the cores are a measurement's, and where there are too few.
    good("R24", guest(threads=UNPINNED), on=KVM_HOST),
    good("R24", guest(threads=UNPINNED), on=replace(KVM_HOST, events=OF_GUEST)),
    bad("R24", guest(threads=UNPINNED), "CPU 0/KVM (701)"),
    bad(
        "R24",
        guest(threads=UNPINNED),
        "2 threads may run on 2-3: CPU 0/KVM (701), CPU 1/KVM (702)",
        on=replace(KVM_HOST, are_for_guests=False),
        remedies="now boot",
        does=("2 of them are virtual CPUs; --role kvm-host says the cores are for guests",),
        mends=True,
    ),
    bad(
        "R24",
        guest(threads=UNPINNED | {"CPU 2/KVM": "0-3"}),
        "3 threads may run on 2-3",
        on=KVM_HOST,
        remedies="now boot",
        does=("3 of them are virtual CPUs, more than poll cores are free for",),
        mends=True,
    ),
    bad(
        "R24",
        guest() | thread_files(500, "pmd-c02/id:8", "2"),
        "1 threads may run on 2-3: CPU 0/KVM (701)",
        on=replace(KVM_HOST, processes=(500,)),
        remedies="now boot",
        mends=True,
    ),
    unseen("R24", ELSEWHERE, "--cores", on=NOBODY),
    bad("R24", ELSEWHERE | FOREIGN, on=NOBODY, remedies=""),
    unseen("R24", POLLER, on=CONTAINER),
    unseen("R24", POLLER | HIDDEN, "others are not visible", "run as root"),
    bad("R24", POLLER | FOREIGN, on=CONTAINER),
    unseen("R24", {}),
    unseen("R24", {"/proc/40/stat": "40 (odd", "/proc/40/status": "Cpus_allowed_list:\t²\n"}),
    good("R25", groups(), on=CAN),
    bad(
        "R25",
        groups(rest="L3:0=3f0;1=3f8"),
        "core 3: shares ways 8 with group default",
        on=CAN,
        cores=(3,),
    ),
    bad(
        "R25",
        groups(poll="L3:0=60f;1=00f", rest="L3:0=1f0;1=1f0"),
        "ways 600 of group poll are filled by devices",
        on=CAN,
    ),
    # Code and data count together.
    bad("R25", groups(poll="L3CODE:0=00f;1=00f\nL3DATA:0=01f;1=00f"), on=CAN, cores=(2,)),
    bad("R25", {f"{RESCTRL}/schemata": "L3:0=7ff\n"}, "core 2: in the default group", on=CAN),
    bad(
        "R25",
        UNGROUPED,
        "core 2: in the default group, with everything else",
        on=CAN,
        remedies="now now-2",
        does=("ways f of the L3", "L3:0=f;1=f", "L3:0=7f0;1=7f0", "MB:0=50;1=50"),
        mends=True,
    ),
    # Devices fill the lowest ways: nothing below is left to give.
    bad("R25", UNGROUPED | {INFO_SHARED: "3\n"}, on=CAN, remedies="now-2"),
    bad("R25", UNGROUPED | {f"{RESCTRL}/schemata": "L2:0=ff\nL3:0=7ff;1=7ff\n"}, remedies="now"),
    # Somebody has made groups: their sizes are theirs.
    bad("R25", UNGROUPED | {f"{RESCTRL}/db/cpus_list": "0\n"}, on=CAN, remedies="by-hand"),
    bad(
        "R25",
        UNGROUPED,
        "core 2: in the default group, with everything else",
        on=CAN,
        remedies="now now-2",
        does=("ways f of the L3", "L3:0=f;1=f", "L3:0=7f0;1=7f0", "MB:0=50;1=50"),
        mends=True,
    ),
    # Devices fill the lowest ways: nothing below is left to give.
    bad("R25", UNGROUPED | {INFO_SHARED: "3\n"}, on=CAN, remedies="now-2"),
    bad("R25", UNGROUPED | {f"{RESCTRL}/schemata": "L2:0=ff\nL3:0=7ff;1=7ff\n"}, remedies="now"),
    # Somebody has made groups: their sizes are theirs.
    bad("R25", UNGROUPED | {f"{RESCTRL}/db/cpus_list": "0\n"}, on=CAN, remedies="by-hand"),
    bad("R25", {}, on=CAN, remedies="by-hand", does=("echo 2-3 > /sys/fs/resctrl/poll/cpus_list",)),
    bad("R25", {}, on=replace(CAN, role=Role.KVM_GUEST), does=("on the host: mount",)),
    unseen("R25", {}, on=GUEST),
    unseen("R25", {}, on=replace(KVM_HOST, machine=GUEST.machine)),
    skipped("R25", {}),
    unseen("R25", {f"{RESCTRL}/schemata": "L3:0=ways;x=7\nL2\n=\n"}, on=CAN),
)

test_neighbours = each(ROWS)
