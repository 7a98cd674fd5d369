from dataclasses import replace

from check_rows import bad, each, good, skipped, unseen
from host_pollers import PROGRAM, SITUATION, traced, watched
from host_threads import thread_files
from host_tree import BARE_METAL, Link
from taut.host.situation import TraceEvent

NO_ROW = {"/proc/interrupts": "CPU0 CPU1\n 1: x\nTLB\n"}
FLUSH = TraceEvent(3, "x", 1, "csd_function_entry", "func=flush_tlb_func, csd=0")
ARM = replace(BARE_METAL, vendor="arm")
OTHER_EVENT = {"/sys/kernel/tracing/events/sched/sched_switch/enable": "0\n"}
SMAPS = "/proc/500/smaps"
MOUNTS = PROGRAM | {
    "/proc/500/mounts": "/dev/vda / ext4 rw 0 0\ntmpfs /dev/shm tmpfs rw 0 0\n"
    "huge /mnt/my\\040huge hugetlbfs rw 0 0\n"
}
TIMERS, LIMITS = "/proc/500/timers", "/proc/500/limits"
UNLIMITED = "Limit  Soft Limit  Hard Limit  Units\nMax cpu time  unlimited  unlimited  seconds\n"
QUIET = PROGRAM | {TIMERS: "", LIMITS: UNLIMITED}
PROFILED = thread_files(500, "rte-worker-2", "2", status="SigCgt:\t0000000004000000\n")
KEPT = "success=0 dependency=POSIX_TIMER"
SKYLAKE = replace(BARE_METAL, model=85, flags=frozenset({"avx512f"}))
OLD = replace(SITUATION, machine=SKYLAKE)
ICE_LAKE = replace(SITUATION, machine=replace(SKYLAKE, model=106))
AMD = replace(SITUATION, machine=replace(SKYLAKE, vendor="amd", family=25))


def shootdowns(*counts: int) -> dict[str, str]:
    row = "  ".join(map(str, counts))
    text = f"        CPU0  CPU1  CPU2  CPU3\n 1: 9 9 9 9 x\nTLB: {row}  TLB shootdowns\nERR: 0\n"
    return {"/proc/interrupts": text}


def called(core: int, function: str) -> TraceEvent:
    return TraceEvent(core, "x", 1, "csd_function_entry", f"func={function}, csd=000000005ee2")


def mapping(path: str, rights: str = "rw-s", dirty: int = 8) -> str:
    return (
        f"7f0c8000-7f0c9000 {rights} 00000000 08:01 1234   {path}\n"
        "Size:                  4 kB\nShared_Clean: 0 kB\n"
        f"Shared_Dirty:          {dirty} kB\nPrivate_Dirty: 0 kB\nVmFlags: rd wr sh\n"
    )


FINE = (
    mapping("/dev/shm/ring")
    + mapping("/mnt/my huge/rtemap_0")
    + mapping("/memfd:buffers (deleted)")
    + mapping("/usr/bin/program", rights="rw-p")
    + mapping("/usr/lib/libc.so", rights="r--s")
    + mapping("/var/lib/table", dirty=0)
    + mapping("[heap]", rights="rw-p")
    + mapping("")
)
ON_DISK = FINE + mapping("/var/log/ring buffer") + mapping("[vdso]", rights="r-xp")


def timer(clock: int) -> str:
    return f"ID: 0\nsignal: 14/0000\nnotify: signal/pid.500\nClockID: {clock}\n"


def counter(pid: int) -> dict[str, str]:
    return {f"/proc/{pid}/comm": "x\n", f"/proc/{pid}/fd/3": Link("anon_inode:[perf_event]")}


def vectors(text: str) -> dict[str, str]:
    return PROGRAM | {"/proc/500/arch_status": f"AVX512_elapsed_ms:\t{text}\n"}


ROWS = (
    good("A05", PROGRAM, on=watched(shootdowns(1, 2, 3, 4), shootdowns(9, 9, 3, 4)), cores=(2, 3)),
    bad(
        "A05",
        PROGRAM,
        "5 on core 3 in 5 s; 1 traced",
        on=replace(watched(shootdowns(1, 2, 3, 4), shootdowns(1, 2, 3, 9)), events=[FLUSH]),
        cores=(3,),
    ),
    unseen("A05", PROGRAM, on=SITUATION),
    unseen("A05", PROGRAM, on=watched(NO_ROW, NO_ROW)),
    skipped("A05", PROGRAM, on=replace(watched(NO_ROW, NO_ROW), machine=ARM)),
    skipped("A05", PROGRAM),
    good(
        "A06",
        PROGRAM,
        on=traced(called(0, "ipi_mb"), called(2, "flush_tlb"), called(2, "ipi_mbox")),
    ),
    bad(
        "A06",
        PROGRAM,
        "core 2: ipi_mb (2 times), core 3: ipi_sync_core (1 times)",
        on=traced(called(2, "ipi_mb"), called(2, "ipi_mb"), called(3, "ipi_sync_core")),
    ),
    unseen("A06", PROGRAM, on=SITUATION),
    unseen("A06", PROGRAM | OTHER_EVENT, "6.5", on=traced()),
    skipped("A06", PROGRAM),
    good("A06", PROGRAM, on=traced(TraceEvent(2, "x", 1, "csd_function_entry", "func="))),
    good("A07", MOUNTS | {SMAPS: FINE}, on=SITUATION),
    bad(
        "A07",
        MOUNTS | {SMAPS: ON_DISK},
        "/var/log/ring buffer (8 kB dirty) of process 500; none",
        on=SITUATION,
    ),
    skipped("A07", PROGRAM),
    skipped("A07", PROGRAM, on=SITUATION),
    unseen("A07", PROGRAM | {SMAPS: "lots of memory\n", "/proc/500/mounts": "x\n"}, on=SITUATION),
    good("A08", QUIET, on=SITUATION),
    # Timers of other clocks do not matter.
    good("A08", QUIET | {TIMERS: timer(0) + timer(1)}, on=SITUATION),
    *(
        bad("A08", QUIET | {TIMERS: timer(1) + timer(clock)}, "1 POSIX CPU timers", on=SITUATION)
        for clock in (2, 3, -6)
    ),
    bad("A08", QUIET | {LIMITS: UNLIMITED.replace("unlimited", "3600", 1)}, "3600 s", on=SITUATION),
    good("A08", QUIET | counter(42), on=SITUATION),
    bad("A08", QUIET | counter(500), on=SITUATION),
    bad(
        "A08",
        QUIET,
        "core 2: POSIX_TIMER keeps the tick; no POSIX",
        on=traced(
            TraceEvent(2, "x", 1, "tick_stop", KEPT), TraceEvent(0, "x", 1, "tick_stop", KEPT)
        ),
    ),
    # It takes the signal of an itimer.
    unseen("A08", QUIET | PROFILED, "SIGPROF", on=SITUATION),
    skipped("A08", QUIET),
    unseen("A08", PROGRAM, on=SITUATION),
    good("A08", QUIET | {TIMERS: "ClockID: x\n", LIMITS: "Max cpu time"}, on=SITUATION),
    good("A10", vectors("-1"), on=OLD),
    bad("A10", vectors("8"), "rte-worker-2 (500) used it 8 ms ago", on=OLD),
    # Later processors do not mind.
    good("A10", vectors("8"), on=ICE_LAKE),
    good("A10", vectors("8"), on=AMD),
    skipped("A10", PROGRAM, on=SITUATION),
    unseen("A10", PROGRAM, on=OLD),
    unseen("A10", vectors("long"), on=OLD),
)

test_program = each(ROWS)
