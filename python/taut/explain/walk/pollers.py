"""Which threads of a device work on its core, and whether they poll or sleep.

A program's threads are known from the process; the trace shows which have the core. A thread that
polls leaves its core only when it is made to. One that sleeps waits for packets: that it is
off its core is then no stall.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from taut.explain.arrays import Ints
from taut.explain.read.events import KIND, Events, high, low
from taut.explain.read.spans import lost_spans, overlaps, skipped_spans
from taut.explain.walk.running import ASLEEP
from taut.explain.walk.timeline import ABOUT_OTHERS

_LEAST_SHARE = 0.01
"""A thread with less than this share of the core's time does not work there."""
_MOST_ASLEEP = 0.1
"""A thread that sleeps more than this share of its time waits for packets."""

_LEAST_CALLS = 10
"""A thread that was in fewer system calls does not work in them."""


@dataclass(frozen=True)
class Workers:
    """The threads of a device that work on its core, who had most of it first."""

    threads: tuple[int, ...]
    sleep: bool
    """Whether they sleep until packets come; if not, they poll."""


def find_workers(events: Events, core: int, threads: Collection[int]) -> Workers | None:
    """Find, of a process's threads, those that work on a core; None where none is seen there."""
    ran = {thread: ns for thread, ns in _had_the_core(events, core).items() if thread in threads}
    slept = {thread: _slept_ns(events, core, thread) for thread in ran}
    total_ns = _traced_ns(events, core)
    working = [thread for thread, ns in ran.items() if ns >= _LEAST_SHARE * total_ns]
    polling = [t for t in working if slept[t] <= _MOST_ASLEEP * (ran[t] + slept[t])]
    found = polling or [thread for thread, ns in ran.items() if ns > 0]
    if not found:
        return None
    return Workers(tuple(sorted(found, key=lambda t: (-ran[t], t))), sleep=not polling)


@dataclass(frozen=True)
class WorkMode:
    """How a thread works: windows that are compared with each other have to share it."""

    sleeps: bool
    in_calls: bool


def work_mode_of(events: Events, core: int, thread: int) -> WorkMode | None:
    """Tell how a thread works on its core; None: it never had it."""
    found = find_workers(events, core, {thread})
    if found is None:
        return None
    return WorkMode(found.sleep, not found.sleep and works_in_calls(events, core, thread))


def works_in_calls(events: Events, core: int, thread: int) -> bool:
    """Whether a thread is in system calls more than half of the time, as a virtual CPU is.

    In many of them: one long call is a stall. Calls count of which both ends were recorded, or
    that began before the trace did, and in which no events were lost or left out.
    """
    is_call = events.of("syscall_entry", "syscall_exit") & (events.thread == thread)
    rows = np.flatnonzero(is_call & (events.cpu == core))
    if not len(rows):
        return False
    times = np.append(events.time_ns[_on(events, core)][0], events.time_ns[rows])
    is_entry = np.append(True, events.kind[rows] == KIND["syscall_entry"])
    is_whole = is_entry[:-1] & ~is_entry[1:]
    start, end = times[:-1][is_whole], times[1:][is_whole]
    is_seen = ~overlaps(start, end, *lost_spans(events, core))
    is_seen &= ~overlaps(start, end, *skipped_spans(events))
    in_calls_ns = int((end - start)[is_seen].sum())
    return int(is_seen.sum()) >= _LEAST_CALLS and 2 * in_calls_ns > _traced_ns(events, core)


def busiest_thread(events: Events, core: int) -> int | None:
    """Give the thread that a core's interrupts meet most often: one that polls nearly always is.

    None: they met no thread but the idle task.
    """
    met = events.of("vector_entry", "irq_entry", "softirq_entry") & (events.cpu == core)
    threads = events.thread[met & (events.thread != 0)]
    if not len(threads):
        return None
    values, counts = np.unique(threads, return_counts=True)
    return int(values[np.argmax(counts)])


def _on(events: Events, core: int) -> Ints:
    rows: Ints = np.flatnonzero((events.cpu == core) & ~events.of(*ABOUT_OTHERS))
    return rows


def _traced_ns(events: Events, core: int) -> int:
    times = events.time_ns[_on(events, core)]
    return int(times[-1] - times[0]) if len(times) else 0


def _had_the_core(events: Events, core: int) -> dict[int, int]:
    """How long each thread had the core; from one event to the next it belongs to one."""
    rows = _on(events, core)
    if not len(rows):
        return {}
    is_switch = events.kind[rows] == KIND["switch"]
    thread = np.where(is_switch, low(events.arg1[rows]), events.thread[rows])
    length = np.append(np.diff(events.time_ns[rows]), 0)
    threads, index = np.unique(thread, return_inverse=True)
    total = np.zeros(len(threads), np.int64)
    np.add.at(total, index, length)
    return {int(t): int(ns) for t, ns in zip(threads, total, strict=True)}


def _slept_ns(events: Events, core: int, thread: int) -> int:
    """How long a thread was off the core because it slept or waited.

    Its next event ends that, too: kernels leave out switches back.
    """
    rows = _on(events, core)
    is_switch = events.kind[rows] == KIND["switch"]
    previous, following = events.arg0[rows], low(events.arg1[rows])
    left = is_switch & (low(previous) == thread) & (high(previous) & ASLEEP != 0)
    times = events.time_ns[rows]
    back = times[(is_switch & (following == thread)) | (events.thread[rows] == thread)]
    at = np.searchsorted(back, times[left], "right")
    last = int(times[-1]) if len(times) else 0
    until = np.append(back, last)[at]
    return int((until - times[left]).sum())


def find_thread(events: Events, core: int, starts: Ints, ends: Ints) -> int | None:
    """Whose gaps these are: where a gap begins, the thread that polls is the one that runs."""
    return most_met(threads_met(events, core, starts, ends))


def most_met(threads: Counter[int]) -> int | None:
    """Give the thread that was met most often; None: there is none."""
    return min(threads, key=lambda thread: (-threads[thread], thread), default=None)


def threads_met(
    events: Events, core: int, starts: Ints, ends: Ints, among: Collection[int] = ()
) -> Counter[int]:
    """Count by thread the gaps whose first event says that it ran.

    `among`: the threads it can be; empty: any.
    """
    rows = np.flatnonzero((events.cpu == core) & ~events.of(*ABOUT_OTHERS))
    if not len(rows) or not len(starts):
        return Counter()
    t = events.time_ns[rows]
    first = np.searchsorted(t, starts, side="left")
    known = (first < len(rows)) & (t[np.minimum(first, len(rows) - 1)] <= ends)
    at = rows[first[known]]
    threads = np.where(
        events.kind[at] == KIND["switch"],
        low(events.arg0[at]),
        events.thread[at],
    )
    threads = threads[np.isin(threads, list(among)) if among else threads != 0]
    values, counts = np.unique(threads, return_counts=True)
    return Counter(dict(zip(values.tolist(), counts.tolist(), strict=True)))
