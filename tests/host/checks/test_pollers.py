from dataclasses import replace

from check_rows import bad, each, good, skipped, unseen
from host_pollers import MAIN, PROGRAM, SECOND, SITUATION, faults, of_thread, traced, watched
from host_threads import stat_line, thread_files
from taut.host.situation import Role, TraceEvent

LOCKED = PROGRAM | thread_files(MAIN, "rte-worker-2", "2", status="VmLck:\t  2048 kB\n")
UNLOCKED = PROGRAM | thread_files(MAIN, "rte-worker-2", "2", status="VmLck:\t     0 kB\n")
SWAPS = {"/proc/swaps": "Filename Type Size Used Priority\n/dev/vda2 partition 1 0 -2\n"}
SAME = watched(faults(7, 1), faults(7, 1))
ONE_MORE = faults(7, 1) | {of_thread(MAIN, "stat"): stat_line(MAIN, "a b) c", faults=(9, 2))}
NO_STAT = {of_thread(MAIN, "stat"): "500 (x) R 1"}
ANYWHERE = thread_files(MAIN, "main", "0-3")
BOTH = thread_files(MAIN, "a", "2-3", last_core=3) | thread_files(
    SECOND, "b", "2-3", pid=MAIN, last_core=3
)
UNNAMED = replace(SITUATION, cores=())
CONTAINER = replace(SITUATION, role=Role.CONTAINER)
NO_COUNTERS = {
    of_thread(MAIN, "status"): "nonvoluntary_ctxt_switches:\tx",
    of_thread(MAIN, "schedstat"): "1",
}
SLICE = "/sys/fs/cgroup/system.slice"
OWN_MAX, SLICE_MAX = f"{SLICE}/poll.service/cpu.max", f"{SLICE}/cpu.max"
NEW = PROGRAM | {
    "/proc/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
    "/proc/500/cgroup": "0::/system.slice/poll.service\n",
    OWN_MAX: "max 100000\n",
    SLICE_MAX: "max 100000\n",
}
OLD_QUOTA = "/sys/fs/cgroup/cpu,cpuacct/poll/cpu.cfs_quota_us"
OLD = PROGRAM | {
    "/proc/mounts": "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n"
    "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n",
    "/proc/500/cgroup": "3:cpu,cpuacct:/poll\n0::/\n",
    OLD_QUOTA: "-1\n",
}
INSIDE = PROGRAM | {
    "/proc/mounts": "cgroup /sys/fs/cgroup cgroup2 ro 0 0\n",
    "/proc/500/cgroup": "0::/../../outside\n",
    "/sys/fs/cgroup/cpu.max": "100000 100000\n",
}


def counters(switches: int, waited_ns: int) -> dict[str, str]:
    """Switches of the second thread; the first has 4."""
    status = "Name:\tx\nvoluntary_ctxt_switches:\t{}\nnonvoluntary_ctxt_switches:\t{}\n"
    files = {}
    for thread, n, wait in ((MAIN, 4, 1000), (SECOND, switches, waited_ns)):
        files[of_thread(thread, "status")] = status.format(n + 1, n)
        files[of_thread(thread, "schedstat")] = f"123456 {wait} 7"
    return files


def call(pid: int, number: int = 230) -> TraceEvent:
    return TraceEvent(2, "x", pid, "sys_enter", f"NR {number} (1, 2, 3, 4, 5, 6)")


def io(reads: str) -> dict[str, str]:
    return {of_thread(MAIN, "io"): f"rchar: 1\nsyscr: {reads}\nsyscw: 2\n"}


def stat(throttled: int) -> dict[str, str]:
    return {f"{SLICE}/cpu.stat": f"usage_usec 1\nnr_periods 9\nnr_throttled {throttled}\n"}


ROWS = (
    good("A01", LOCKED, "none of 2 threads in 5 s", "2048 kB locked", on=SAME),
    bad(
        "A01",
        LOCKED,
        "rte-worker-2 (500): 2 minor, 1 major",
        on=watched(faults(7, 1), ONE_MORE),
        does=("mlockall",),
    ),
    good("A01", UNLOCKED, on=SAME),
    bad("A01", UNLOCKED | SWAPS, "the machine swaps", on=SAME),
    good("A01", LOCKED | SWAPS, on=SAME),
    unseen("A01", LOCKED, "--watch", on=SITUATION),
    skipped("A01", PROGRAM, "no polling process named or found"),
    unseen("A01", {}, "gone, or not visible", on=SITUATION),
    skipped("A01", ANYWHERE, "(A02)", on=SITUATION),
    unseen("A01", PROGRAM, on=watched(NO_STAT, NO_STAT)),
    good("A02", PROGRAM, "rte-worker-3 (501) on 3", on=SITUATION),
    bad(
        "A02",
        BOTH,
        "a (500) may use 2-3",
        on=SITUATION,
        remedies="now by-hand",
        does=("affinity of a (500) = 3", "affinity of b (501) = 2"),
        mends=True,
    ),
    # Two threads on one core are for the program to part.
    bad(
        "A02",
        PROGRAM | thread_files(503, "c", "3", pid=MAIN),
        "core 3 is shared by rte-worker-3 (501), c (503)",
        on=SITUATION,
        remedies="by-hand",
    ),
    bad(
        "A02",
        PROGRAM | thread_files(502, "eal-intr-thread", "0-3", pid=MAIN),
        "eal-intr-thread (502) may run on 0-3",
        on=SITUATION,
    ),
    bad("A02", ANYWHERE, on=SITUATION),
    bad("A02", ANYWHERE, on=UNNAMED),
    good("A02", PROGRAM, on=UNNAMED),
    skipped("A02", PROGRAM),
    unseen(
        "A02",
        {"/proc/500/stat": "500", "/proc/500/status": "Cpus_allowed_list:\t?\n"},
        on=SITUATION,
    ),
    good("A03", PROGRAM, "none of 2", on=watched(counters(4, 1000), counters(4, 1000))),
    bad(
        "A03",
        PROGRAM,
        "rte-worker-3 (501): 5 involuntary switches, waited 4.000 ms",
        on=watched(counters(4, 1000), counters(9, 4_001_000)),
    ),
    # A wait alone fails too.
    bad("A03", PROGRAM, on=watched(counters(4, 1000), counters(4, 2000))),
    unseen("A03", PROGRAM, on=SITUATION),
    unseen("A03", PROGRAM, on=watched(NO_COUNTERS, NO_COUNTERS)),
    good(
        "A03",
        PROGRAM,
        on=replace(watched(counters(4, 1000), counters(4, 1000)), role=Role.CONTAINER),
    ),
    skipped("A03", PROGRAM),
    good("A04", PROGRAM, on=traced(call(502), call(9))),
    bad(
        "A04",
        PROGRAM,
        "3 or more: rte-worker-2 (500): system call 230 (2 times)",
        on=traced(call(MAIN), call(MAIN), call(501, 0)),
    ),
    # Reads show without tracing; no read proves nothing without it.
    bad("A04", PROGRAM, "7 reads and writes", on=watched(io("5"), io("12"))),
    unseen("A04", PROGRAM, on=watched(io("5"), io("5"))),
    unseen("A04", PROGRAM, on=SITUATION),
    skipped("A04", PROGRAM),
    unseen("A04", PROGRAM, on=watched(io("x"), io("-"))),
    good("A04", PROGRAM, on=traced(TraceEvent(2, "x", MAIN, "sys_enter", "NR"))),
    good("A09", NEW, on=SITUATION),
    good("A09", OLD, on=SITUATION),
    bad(
        "A09",
        NEW | {SLICE_MAX: "50000 100000\n"},
        f"{SLICE_MAX} = 50000 100000",
        on=SITUATION,
        does=("cpu.max = max 100000",),
        mends=True,
    ),
    bad("A09", OLD | {OLD_QUOTA: "20000\n"}, on=SITUATION, mends=True),
    # Throttling counts while watched only.
    good("A09", NEW | stat(7), "7 times since", on=watched(stat(7), stat(7))),
    bad("A09", NEW | stat(9), "2 times while watched", on=watched(stat(7), stat(9))),
    bad("A09", INSIDE, on=CONTAINER, remedies="by-hand"),
    skipped("A09", NEW),
    unseen("A09", PROGRAM, on=SITUATION),
    # A quota may be where nothing is mounted to show it.
    unseen("A09", NEW | {"/proc/mounts": ""}, "process 500", "mounted", on=SITUATION),
    *(
        unseen("A09", NEW | {SLICE_MAX: text}, on=SITUATION)
        for text in ("plenty\n", "\n", "max\n", "-5 100000\n")
    ),
    unseen("A09", OLD | {OLD_QUOTA: "some\n"}, on=SITUATION),
)

test_pollers = each(ROWS)
