"""Checks of what the polling program does to itself: mappings, timers, barriers, instructions."""

import re
from collections import Counter
from collections.abc import Iterator

from taut.core.cpus import CpuSet, format_cpu_list
from taut.host.check import Finding
from taut.host.checks._holders import holders
from taut.host.checks._interrupts import COUNTS
from taut.host.checks._pollers import need_pollers, need_processes, polled_cores, polling_threads
from taut.host.checks._tracing import most_common, need_events
from taut.host.table import MAJOR, MINOR, WITH_CONTAINERS, Check, by_hand
from taut.host.threads import read_of_thread, some, status_field
from taut.host.view import WATCH, View

_CALLED = "csd/csd_function_entry"
# Functions of kernel/sched/membarrier.c that run on the other cores.
_BARRIER = re.compile(r"func=(ipi_mb|ipi_sync_core|ipi_rseq|ipi_sync_rq_state)\b")
# `7f0c8000-7f0c9000 rw-s 00000000 08:01 1234   /var/log/ring`
_MAPPING = re.compile(r"[0-9a-f]+-[0-9a-f]+ (?P<rights>\S{4}) \S+ \S+ \d+\s*(?P<path>.*)")
_DIRTY = re.compile(r"(Shared|Private)_Dirty:\s+(\d+) kB")
# What is never written back.
_IN_MEMORY = frozenset({"tmpfs", "hugetlbfs", "devtmpfs", "ramfs", "sysfs", "proc", "devpts"})
_NO_FILE = ("/memfd:", "/SYSV", "/dev/zero", "/anon_hugepage")
_CLOCK = re.compile(r"ClockID:\s*(-?\d+)")
# CLOCK_PROCESS_CPUTIME_ID and CLOCK_THREAD_CPUTIME_ID; negative: of a given process or thread.
_CPU_CLOCKS = (2, 3)
_KEPT = re.compile(r"success=0 dependency=(POSIX_TIMER|PERF_EVENTS)")
# Of ITIMER_VIRTUAL and ITIMER_PROF: nothing tells of the timers, whoever arms one takes these.
_ALARMS = {26: "SIGVTALRM", 27: "SIGPROF"}
# Skylake-SP, Cascade Lake and Cooper Lake (85), Cannon Lake, Knights Landing and Knights Mill.
_LOWERS_CLOCK = frozenset({85, 102, 87, 133})


def shootdowns(see: View) -> Finding:
    """Processors with INVLPGB, and those of ARM, need no interrupt for it."""
    cores = polled_cores(need_pollers(see))
    texts = (see.watched.before.get(COUNTS), see.watched.after.get(COUNTS))
    if texts[0] is None or texts[1] is None:
        see.cannot_tell("interrupts not watched", WATCH)
    before, after = _shootdowns(texts[0]), _shootdowns(texts[1])
    if before is None or after is None:
        if see.machine.vendor == "arm":
            see.skip("no interrupt is needed for it on this processor")
        see.cannot_tell("no row TLB in /proc/interrupts", "a kernel that counts shootdowns")
    counts = {core: after.get(core, 0) - before.get(core, 0) for core in cores}
    hit = {core: count for core, count in counts.items() if count}
    seconds = f"{see.watched.seconds:.0f} s"
    if hit:
        shown = ", ".join(f"{count} on core {core}" for core, count in hit.items())
        return see.failed(f"{shown} in {seconds}{_traced_flushes(see, cores)}", tuple(hit))
    return see.passed(f"none on {format_cpu_list(cores)} in {seconds}", cores)


def _shootdowns(text: str) -> dict[int, int] | None:
    """Count them by core; the first line names the cores that are online. None: not all told."""
    lines = text.splitlines() or [""]
    cores = [int(word[3:]) for word in lines[0].split() if word[3:].isdecimal()]
    for line in lines[1:]:
        label, _, rest = line.partition(":")
        if label.strip() == "TLB":
            numbers = [int(word) for word in rest.split()[: len(cores)] if word.isdecimal()]
            return dict(zip(cores, numbers, strict=True)) if len(numbers) == len(cores) else None
    return None


def _traced_flushes(see: View, cores: CpuSet) -> str:
    """Before 6.5 nothing tells what an interrupt was for."""
    events = see.situation.events or ()
    seen = sum(each.core in cores and "func=flush_tlb_func" in each.fields for each in events)
    return f"; {seen} traced" if seen else ""


def barriers(see: View) -> Finding:
    """What is called on a core by an interrupt tells of such a barrier; nothing else does."""
    cores = polled_cores(need_pollers(see))
    count: Counter[str] = Counter()
    for event in need_events(see, (_CALLED,), "Linux 6.5 or newer"):
        match = _BARRIER.search(event.fields) if event.core in cores else None
        if match is not None:
            count[f"core {event.core}: {match[1]}"] += 1
    if count:
        return see.failed(most_common(count), cores)
    return see.passed("none while traced", cores)


def file_mappings(see: View) -> Finding:
    """Private mappings are never written back: only dirty pages of shared ones count."""
    dirty = []
    for pid in need_processes(see):
        path = f"/proc/{pid}/smaps"
        text = see.text(path)
        if text and not _MAPPING.match(text):
            see.cannot_tell(f"{path}: {text[:40]!r}", "a kernel whose format taut knows")
        mounts = _mounts(see, pid)
        dirty += [
            f"{file} ({kilobytes} kB dirty) of process {pid}"
            for file, kilobytes in _shared(text)
            if kilobytes and _filesystem(mounts, file) not in _IN_MEMORY
        ]
    if dirty:
        return see.failed(some(dirty), see.cores)
    return see.passed("no dirty page of a file on a disk")


def _shared(smaps: str) -> Iterator[tuple[str, int]]:
    """Give the files of writable shared mappings and what of each is dirty."""
    file, kilobytes = "", 0
    for line in smaps.splitlines():
        mapping = _MAPPING.fullmatch(line)
        if mapping is not None:
            if file:
                yield file, kilobytes
            rights, path = mapping["rights"], mapping["path"].strip()
            is_wanted = rights[1] == "w" and rights[3] == "s" and path.startswith("/")
            file = path if is_wanted and not path.startswith(_NO_FILE) else ""
            kilobytes = 0
        elif (found := _DIRTY.match(line)) is not None:
            kilobytes += int(found[2])
    if file:
        yield file, kilobytes


def _mounts(see: View, pid: int) -> dict[str, str]:
    """Give the file system of each mount point."""
    lines = (see.read(f"/proc/{pid}/mounts") or "").splitlines()
    words = [line.split() for line in lines]
    return {word[1].replace("\\040", " "): word[2] for word in words if len(word) > 2}


def _filesystem(mounts: dict[str, str], file: str) -> str:
    """Of the longest mount point that holds a file; "": unknown, so it may be a disk."""
    holds = [point for point in mounts if file == point or file.startswith(f"{point.rstrip('/')}/")]
    return mounts[max(holds, key=len)] if holds else ""


def timers(see: View) -> Finding:
    """Look at timers, limits, descriptors, and what the kernel said: a profiler does it all."""
    processes = need_processes(see)
    kept = [*_traced_timers(see), *_counters(see)]
    for pid in processes:
        kept += [*_cpu_timers(see, pid), *_limit(see, pid)]
    if kept:
        return see.failed(some(kept), see.cores)
    for pid in processes if see.situation.events is None else ():
        path = f"/proc/{pid}/timers"
        if see.read(path) is None:
            if see.host.is_denied(path):
                see.cannot_tell(f"{path}: permission denied", "run as root")
            see.cannot_tell(f"no {path}", "a kernel with CHECKPOINT_RESTORE, or --trace")
        if alarms := _alarms(see, pid):
            observed = f"process {pid} takes {' and '.join(alarms)}: it may have an itimer"
            see.cannot_tell(observed, "--trace, on a core of nohz_full")
    return see.passed("none")


def _cpu_timers(see: View, pid: int) -> list[str]:
    clocks = map(int, _CLOCK.findall(see.read(f"/proc/{pid}/timers") or ""))
    count = sum(clock in _CPU_CLOCKS or clock < 0 for clock in clocks)
    return [f"process {pid}: {count} POSIX CPU timers"] if count else []


def _limit(see: View, pid: int) -> list[str]:
    """`Max cpu time  unlimited  unlimited  seconds`: the kernel times a limit like a timer."""
    for line in (see.read(f"/proc/{pid}/limits") or "").splitlines():
        words = line.removeprefix("Max cpu time").split()
        if line.startswith("Max cpu time") and words and words[0] != "unlimited":
            return [f"process {pid}: limited to {words[0]} s of CPU time"]
    return []


def _counters(see: View) -> list[str]:
    """Who counts whom is not shown: a program that holds counters may count itself."""
    names = {f"({pid})" for pid in see.situation.processes}
    found = holders(see.host, lambda target: "[perf_event]" in target)
    return [f"perf counters of {name}" for name in found if name.rpartition(" ")[2] in names]


def _traced_timers(see: View) -> list[str]:
    cores = polled_cores(polling_threads(see))
    kept = {
        f"core {event.core}: {match[1]} keeps the tick"
        for event in see.situation.events or ()
        if event.name == "tick_stop" and event.core in cores
        if (match := _KEPT.search(event.fields)) is not None
    }
    return sorted(kept)


def _alarms(see: View, pid: int) -> list[str]:
    try:
        caught = int(see.host.fields(f"/proc/{pid}/status").get("SigCgt", ""), 16)
    except ValueError:
        return []
    return [name for number, name in _ALARMS.items() if caught >> (number - 1) & 1]


def wide_vectors(see: View) -> Finding:
    """The kernel notes it when it switches threads: what it did not see proves little."""
    pollers = need_pollers(see)
    machine = see.machine
    if "avx512f" not in machine.flags:
        see.skip("the processor has no AVX-512")
    if machine.vendor != "intel" or machine.family != 6 or machine.model not in _LOWERS_CLOCK:
        return see.passed("this processor hardly lowers its clock for it")
    used, is_seen = [], False
    for thread in pollers:
        text = read_of_thread(see.host, thread.pid, thread.tid, "arch_status") or ""
        elapsed = status_field(text, "AVX512_elapsed_ms") or ""
        is_seen |= elapsed.lstrip("-").isdecimal()
        if elapsed.isdecimal():
            used.append(f"{thread} used it {elapsed} ms ago")
    if used:
        return see.failed(some(used), see.cores)
    if not is_seen:
        needs = "Linux 5.2 or newer; or perf stat -e core_power.lvl2_turbo_license on the host"
        return see.unknown("no AVX512_elapsed_ms in arch_status", needs)
    return see.passed("not seen when threads were switched")


CHECKS = (
    Check(
        "A05",
        "TLB shootdowns",
        "TLB shootdowns interrupt poll cores",
        MAJOR,
        shootdowns,
        "none on cores that poll",
        roles=WITH_CONTAINERS,
        watches=(COUNTS,),
        traces=(_CALLED,),
        remedies=by_hand(
            "keep the program's address space as it is",
            "in the program: no munmap, mprotect, madvise, fork or exec after its "
            "start, in any thread; glibc: MALLOC_TRIM_THRESHOLD_=-1, a large "
            "MALLOC_MMAP_THRESHOLD_; helpers in another process. Programs that ran on the core "
            "before cause them too: keep them off (R24)",
            cost="memory that is not given back",
        ),
        why="munmap, mprotect, madvise or fork in any thread interrupts every core that runs the "
        "program: 1 to 3 µs on bare metal, 15 µs in a guest, more than 1 ms at worst",
        source="Gallenmueller et al., Ducked Tails (2021); rigtorp.se; measured by taut's authors",
    ),
    Check(
        "A06",
        "membarrier",
        "membarrier interrupts poll cores",
        MAJOR,
        barriers,
        "none on cores that poll",
        roles=WITH_CONTAINERS,
        traces=(_CALLED,),
        remedies=by_hand(
            "keep membarrier out of the polling program",
            "no JIT, garbage collector or liburcu (its membarrier flavour) in the "
            "process that polls; liburcu: the memb flavour off, or qsbr",
        ),
        why="each membarrier interrupts every core that runs the program: 12 µs in a guest",
        source="membarrier(2); measured by taut's authors",
    ),
    Check(
        "A07",
        "writable file mappings",
        "Polling programs write to mapped files",
        MAJOR,
        file_mappings,
        "none that is written to",
        roles=WITH_CONTAINERS,
        remedies=by_hand(
            "keep what the program writes to off the disk",
            "in the program: memfd_create, hugetlbfs or tmpfs; or let another process "
            "write the file",
        ),
        why="writeback takes the right to write away from each dirty page: the next write faults, "
        "and waits where the page is on its way to the disk",
        source="rigtorp.se low latency guide; Gallenmueller et al., Ducked Tails (2021)",
    ),
    Check(
        "A08",
        "timers that keep the tick",
        "A program's timers keep the tick",
        MAJOR,
        timers,
        "no POSIX CPU timer, itimer, CPU limit or perf counter",
        roles=WITH_CONTAINERS,
        traces=("timer/tick_stop",),
        remedies=by_hand(
            "end the timers and counters",
            "no profiler on the program while it serves; `ulimit -t unlimited`; in the "
            "program: timers of CLOCK_MONOTONIC instead of CPU time",
        ),
        why="a timer that counts CPU time, or a pinned perf counter, needs the tick: a nohz_full "
        "core gets its 100 to 1000 interrupts a second back",
        source="admin-guide/cpu-isolation.rst; proc(5)",
    ),
    Check(
        "A10",
        "AVX-512",
        "Polling threads use AVX-512",
        MINOR,
        wide_vectors,
        "no AVX-512 on processors that lower their clock for it",
        roles=WITH_CONTAINERS,
        remedies=by_hand(
            "build and run the program without AVX-512",
            "-mprefer-vector-width=256; DPDK: --force-max-simd-bitwidth=256; glibc: "
            "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX512VL",
            cost="throughput of wide code",
        ),
        why="processors of the Skylake generation stop for 10 to 20 µs to change their power "
        "licence, then run slower for 0.7 ms; later ones hardly do",
        source="Intel optimization manual; filesystems/proc.rst (arch_status)",
    ),
)
