"""Checks of the threads that poll: cores, faults, switches and system calls."""

import re
from collections import Counter
from collections.abc import Iterable

from taut.core.cpus import format_cpu_list
from taut.host.check import Finding, Remedy
from taut.host.checks._pollers import both, need_pollers, need_processes, polling_threads
from taut.host.checks._threads import move
from taut.host.checks._tracing import most_common, need_events
from taut.host.setting import Change
from taut.host.situation import Role
from taut.host.table import CRITICAL, MINOR, WITH_CONTAINERS, Check, by_hand, now
from taut.host.threads import Thread, some, stat_fields, status_field, threads_of
from taut.host.view import WATCH, View

_NOT_HOST = WITH_CONTAINERS - {Role.KVM_HOST}
"""On a KVM host, what polls are virtual CPUs (V01, V02)."""
_ENTER = "raw_syscalls/sys_enter"
_NUMBER = re.compile(r"NR (-?\d+)")


def page_faults(see: View) -> Finding:
    """Compare fields 10 and 12 of stat (proc(5)).

    Memory that is not locked is a failure of its own where the machine swaps.
    """
    pollers = need_pollers(see)
    locked = "; ".join(_locked(see, pid) for pid in see.situation.processes)
    faulted, judged = [], 0
    for thread in pollers:
        counts = [_faults(text) for text in both(see, thread, "stat") or ()]
        if len(counts) < 2 or counts[0] is None or counts[1] is None:
            continue
        judged += 1
        minor, major = (after - before for before, after in zip(*counts, strict=True))
        if minor or major:
            faulted.append(f"{thread}: {minor} minor, {major} major")
    if faulted:
        return see.failed(f"{some(faulted)}; {locked}", see.cores)
    # The first line is a header.
    swaps = len((see.read("/proc/swaps") or "").splitlines()) > 1
    if swaps and "nothing is locked" in locked:
        return see.failed(f"{locked}, and the machine swaps", see.cores)
    if not judged:
        return see.unknown(f"faults not watched; {locked}", WATCH)
    return see.passed(f"none of {judged} threads in {see.watched.seconds:.0f} s; {locked}")


def _faults(stat: str) -> tuple[int, int] | None:
    fields = stat_fields(stat)
    try:
        return int(fields[7]), int(fields[9])
    except (ValueError, IndexError):
        return None


def _locked(see: View, pid: int) -> str:
    kilobytes = (see.host.fields(f"/proc/{pid}/status").get("VmLck") or "?").split()[0]
    shown = "nothing is locked" if kilobytes == "0" else f"{kilobytes} kB locked"
    return f"process {pid}: {shown}"


def pinning(see: View) -> Finding:
    """On isolated cores the scheduler spreads nothing: threads stay where they started."""
    need_processes(see)
    pollers = polling_threads(see)
    if not pollers:
        where = format_cpu_list(see.cores) if see.cores else "one core"
        return see.failed(f"no thread is pinned to {where}", see.cores)
    if wrong := [*_wide(pollers), *_shared(pollers), *_strays(see)]:
        return see.failed(some(wrong), see.cores)
    return see.passed(some([f"{thread} on {thread.allowed[0]}" for thread in pollers]), see.cores)


def pin(see: View) -> Iterable[Remedy]:
    """Pin what has a free core; the rest is for who knows what each thread does."""
    if changes := _pinned(see, polling_threads(see)):
        yield now(
            f"pin {len(changes)} polling threads to a core each",
            *changes,
            risk="lasts until the program ends: say it in its own options too",
        )
    yield by_hand(
        "let the program pin its threads",
        "in the program's options (DPDK: --lcores): one poll core for each thread "
        "that polls, housekeeping cores for all others",
    )


def _wide(pollers: list[Thread]) -> list[str]:
    wide = [thread for thread in pollers if len(thread.allowed) > 1]
    return [f"{thread} may use {format_cpu_list(thread.allowed)}" for thread in wide]


def _shared(pollers: list[Thread]) -> list[str]:
    by_core: dict[int, list[str]] = {}
    for thread in pollers:
        if len(thread.allowed) == 1:
            by_core.setdefault(thread.allowed[0], []).append(str(thread))
    shared = {core: names for core, names in sorted(by_core.items()) if len(names) > 1}
    return [f"core {core} is shared by {some(names)}" for core, names in shared.items()]


def _strays(see: View) -> list[str]:
    """Threads of the program that are no pollers, and may run on a poll core."""
    poll = set(see.cores)
    return [
        f"{thread} may run on {format_cpu_list(thread.allowed)}"
        for pid in see.situation.processes
        for thread in threads_of(see.host, pid)
        if not poll.isdisjoint(thread.allowed) and not poll.issuperset(thread.allowed)
    ]


def _pinned(see: View, pollers: list[Thread]) -> list[Change]:
    """Choose the core where it runs now unless somebody else has it; else any free one."""
    taken = {thread.allowed[0] for thread in pollers if len(thread.allowed) == 1}
    free = [core for core in see.cores if core not in taken]
    changes = []
    for thread in pollers:
        own = [core for core in free if core in thread.allowed]
        if len(thread.allowed) > 1 and own:
            core = thread.last_core if thread.last_core in own else own[0]
            free.remove(core)
            changes.append(move(thread, str(core)))
    return changes


def switches(see: View) -> Finding:
    """The best counter that needs no right at all: it works in a container too."""
    switched, judged = [], 0
    for thread in need_pollers(see):
        n_switches, waited_ns = _switches(see, thread), _waited_ns(see, thread)
        judged += n_switches is not None
        if n_switches or waited_ns:
            shown = "no" if n_switches is None else str(n_switches)
            waited = "" if waited_ns is None else f", waited {waited_ns / 1e6:.3f} ms"
            switched.append(f"{thread}: {shown} involuntary switches{waited}")
    if switched:
        return see.failed(some(switched), see.cores)
    if not judged:
        return see.unknown("switches not watched", WATCH)
    return see.passed(f"none of {judged} threads in {see.watched.seconds:.0f} s")


def _switches(see: View, thread: Thread) -> int | None:
    pair = both(see, thread, "status")
    if pair is None:
        return None
    before, after = (status_field(text, "nonvoluntary_ctxt_switches") or "" for text in pair)
    return int(after) - int(before) if before.isdecimal() and after.isdecimal() else None


def _waited_ns(see: View, thread: Thread) -> int | None:
    """Time runnable and not running: the second number of schedstat."""
    pair = both(see, thread, "schedstat")
    if pair is None:
        return None
    before, after = (text.split() for text in pair)
    try:
        return int(after[1]) - int(before[1])
    except (ValueError, IndexError):
        return None


def system_calls(see: View) -> Finding:
    """Count them where they were traced.

    Reads and writes show without tracing as well: that proves some, never none.
    """
    pollers = need_pollers(see)
    if count := _calls(see, pollers):
        return see.failed(f"{count.total()} or more: {most_common(count)}")
    transfers = {thread: _transfers(see, thread) for thread in pollers}
    moved = [f"{thread}: {calls} reads and writes" for thread, calls in transfers.items() if calls]
    if moved:
        return see.failed(some(moved))
    need_events(see, (_ENTER,), "with HAVE_SYSCALL_TRACEPOINTS")
    return see.passed(f"none by {len(pollers)} threads while traced")


def _calls(see: View, pollers: list[Thread]) -> Counter[str]:
    names = {thread.tid: str(thread) for thread in pollers}
    count: Counter[str] = Counter()
    for event in see.situation.events or ():
        match = _NUMBER.search(event.fields) if event.name == "sys_enter" else None
        if match is not None and event.pid in names:
            count[f"{names[event.pid]}: system call {match[1]}"] += 1
    return count


def _transfers(see: View, thread: Thread) -> int:
    pair = both(see, thread, "io")
    if pair is None:
        return 0
    before, after = (
        [status_field(text, name) or "" for name in ("syscr", "syscw")] for text in pair
    )
    if not all(number.isdecimal() for number in (*before, *after)):
        return 0
    return sum(map(int, after)) - sum(map(int, before))


CHECKS = (
    Check(
        "A01",
        "page faults",
        "Polling programs fault on memory",
        CRITICAL,
        page_faults,
        "no page fault once it runs",
        roles=_NOT_HOST,
        watches=("/proc/{pid}/task/*/stat",),
        remedies=by_hand(
            "lock and touch all memory before the first packet",
            "in the program: mlockall(MCL_CURRENT | MCL_FUTURE), no allocation in the "
            "loop; tables in huge pages; `ulimit -l unlimited`",
            cost="memory",
        ),
        why="a first touch costs 1 to 3 µs, a page that comes back from a disk milliseconds; "
        "locked and pre-faulted memory has neither",
        source="admin-guide/cpu-isolation.rst; rigtorp.se low latency guide; measured by taut",
    ),
    Check(
        "A02",
        "one polling thread for each core",
        "Polling threads do not have a core each",
        CRITICAL,
        pinning,
        "one thread for each poll core, pinned to it; the program's other threads elsewhere",
        roles=_NOT_HOST,
        remedies=pin,
        why="the scheduler does not balance isolated cores: threads that may use several pile up "
        "on the first, and take turns of milliseconds",
        source="admin-guide/cpu-isolation.rst",
    ),
    Check(
        "A03",
        "context switches",
        "Polling threads were switched out",
        CRITICAL,
        switches,
        "no switch, and no wait for the core",
        roles=WITH_CONTAINERS,
        watches=("/proc/{pid}/task/*/status", "/proc/{pid}/task/*/schedstat"),
        remedies=by_hand(
            "find out who runs on the core",
            "what R22, R24 and R08 name: move it; isolate the core (K04)",
        ),
        why="each involuntary switch hands the core to somebody else, for up to a time slice (4 "
        "ms)",
        source="proc(5); scheduler/sched-stats.rst; measured by taut's authors",
    ),
    Check(
        "A04",
        "system calls",
        "Polling threads make system calls",
        MINOR,
        system_calls,
        "none in the loop",
        roles=WITH_CONTAINERS,
        watches=("/proc/{pid}/task/*/io",),
        traces=(_ENTER,),
        remedies=by_hand(
            "take system calls out of the loop",
            "in the program; `perf trace -s -t TID` names them. Log, sleep and read "
            "files in another thread on a housekeeping core",
        ),
        why="each costs 0.1 to 1 µs, may restart the tick of a nohz_full core, and may sleep; "
        "mitigations make it dearer",
        source="admin-guide/cpu-isolation.rst",
    ),
)
