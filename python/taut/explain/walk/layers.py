"""Who had a core, as layers of intervals: interrupts, softirqs, threads.

For a device that has no thread of its own. Nothing has to be known of the time before: any stretch
of the trace can be looked at by itself.
"""

from dataclasses import dataclass

import numpy as np

from taut.explain.arrays import Ints, Mask, Numbers, interval_holding
from taut.explain.read.events import KIND, Events
from taut.explain.read.names import SOFTIRQS, Names

NET_RX = SOFTIRQS.index("NET_RX")

IDLE = 0
"""Id of the idle task: the core has nothing to do."""

SENT_WITHIN_NS = 10_000
"""A core that does not poll is sent an interrupt within this time of a call queued for it."""

_DELIVERIES = ("rps_trigger_softirq",)  # net/core/dev.c

_BY_WHO_RUNS = ("switch", "softirq_entry", "vector_entry", "irq_entry")
"""Events noted by the thread that has the core; a switch by the one that leaves."""

_LOW = 0xFFFF_FFFF
_BLOCKED = 0xFF
"""Bits of a switch's state: with any of them set the thread does not want to run."""


@dataclass(frozen=True)
class Layer:
    """Intervals in order that do not overlap, and the event that began each."""

    start_ns: Ints
    end_ns: Ints
    row: Ints
    """Position of the event among all events."""

    def __len__(self) -> int:
        return len(self.start_ns)

    def at(self, times: Ints) -> Ints:
        """Give the index of the interval that holds each time, -1: none."""
        return interval_holding(self.start_ns, self.end_ns, times)

    def take(self, chosen: Mask) -> "Layer":
        return Layer(self.start_ns[chosen], self.end_ns[chosen], self.row[chosen])


@dataclass(frozen=True)
class Layers:
    """One core's contexts, each layer over the next."""

    nmi: Layer
    call: Layer
    interrupt: Layer
    softirq: Layer
    thread: Layer
    """Turns of threads, from the switch to it to the switch away."""
    who: Ints
    """The thread of each turn."""
    waiting: Layer
    """Intervals in which a network thread of the kernel (ksoftirqd, NAPI) waited for the core."""

    @property
    def all(self) -> tuple[Layer, ...]:
        """Every layer, the innermost first."""
        return self.nmi, self.call, self.interrupt, self.softirq, self.thread, self.waiting


def layers_of(events: Events, core: int, names: Names) -> Layers:
    """Take one core's contexts out of the events."""
    own = events.cpu == core
    turns, who = _turns(events, own)
    return Layers(
        _nmis(events, own),
        # A core's own part of a call to all cores has no csd: the running thread keeps running.
        _pairs(events, own & (events.arg0 != 0), ("call_entry",), ("call_exit",)),
        _pairs(events, own, ("vector_entry", "irq_entry"), ("vector_exit", "irq_exit")),
        _pairs(events, own, ("softirq_entry",), ("softirq_exit",)),
        turns,
        who,
        _waits(events, core, names),
    )


def network_threads(names: Names, core: int) -> Numbers:
    """The kernel's threads that carry packets on a core: ksoftirqd, and those of NAPI."""
    found = [
        thread
        for thread, name in names.notes.threads.items()
        if name == f"ksoftirqd/{core}" or name.startswith("napi/")
    ]
    return np.array(found, np.uint64)


def is_delivery(events: Events, names: Names) -> Mask:
    """Mark the calls by which one core tells another that it has packets for it."""
    known = [at for at in names.notes.functions if names.function(at) in _DELIVERIES]
    calls = events.of("call_queue", "call_entry", "call_exit")
    marked: Mask = calls & np.isin(events.arg1, np.array(known, np.uint64))
    return marked


def interrupts_sent(events: Events, core: int) -> Ints:
    """When other cores sent this one an interrupt."""
    # The upper half of the newer kind's is where it was sent from.
    target = events.arg0 & np.uint64(_LOW)
    times: Ints = events.time_ns[events.of("ipi_send", "ipi_send_for") & (target == core)]
    return times


def is_of_core(events: Events, core: int) -> Mask:
    """Mark events that the core itself noted: it was running then."""
    own: Mask = (events.cpu == core) & ~events.of("lost", "skipped", "frequency")
    return own


def network_runs(events: Events, softirq: Layer) -> Layer:
    """When the core handled received packets."""
    return softirq.take(events.arg0[softirq.row] == NET_RX)


def _pairs(events: Events, own: Mask, entries: tuple[str, ...], exits: tuple[str, ...]) -> Layer:
    """Make intervals of one kind; they do not nest: each ends with the next event of its kind."""
    rows = np.flatnonzero(own & events.of(*entries, *exits))
    begins = np.isin(events.kind[rows], [KIND[kind] for kind in entries])
    at = np.flatnonzero(begins[:-1])
    return Layer(events.time_ns[rows[at]], events.time_ns[rows[at + 1]], rows[at])


def _nmis(events: Events, own: Mask) -> Layer:
    """Give the non-maskable interrupts; their events are stamped at the end."""
    rows = np.flatnonzero(own & events.of("nmi"))
    end = events.time_ns[rows]
    start = end - events.arg1[rows].astype(np.int64)
    if len(rows):
        start[1:] = np.maximum(start[1:], end[:-1])
    return Layer(start, end, rows)


def _turns(events: Events, own: Mask) -> tuple[Layer, Ints]:
    """Give the turns of threads and each one's thread; the first is of who leaves at its end."""
    rows = np.flatnonzero(own & events.of(*_BY_WHO_RUNS))
    if not len(rows):
        nothing = np.empty(0, np.int64)
        return Layer(nothing, nothing, nothing), nothing
    switches = rows[events.kind[rows] == KIND["switch"]]
    first = events.thread[rows[:1]].astype(np.int64)
    following = (events.arg1[switches] & np.uint64(_LOW)).astype(np.int64)
    times = events.time_ns[switches]
    ends = np.append(times, events.time_ns[-1] + 1)
    starts = np.append(events.time_ns[:1] - 1, times)
    return Layer(starts, ends, np.append(rows[:1], switches)), np.append(first, following)


def _waits(events: Events, core: int, names: Names) -> Layer:
    """Give the waits of network threads: from wake-up, or losing the core, until they have it."""
    found = [_waits_of(events, core, int(thread)) for thread in network_threads(names, core)]
    if not found:
        return Layer(*(np.empty(0, np.int64) for _ in range(3)))
    start, end, row = (np.concatenate(columns) for columns in zip(*found, strict=True))
    order = np.argsort(start, kind="stable")
    start, end, row = start[order], end[order], row[order]
    # If two wait at once, the first one's wait counts until it runs.
    if len(start):
        start[1:] = np.maximum(start[1:], np.maximum.accumulate(end)[:-1])
    kept = end > start
    return Layer(start[kept], end[kept], row[kept])


def _waits_of(events: Events, core: int, thread: int) -> tuple[Ints, Ints, Ints]:
    switch = events.of("switch") & (events.cpu == core)
    # What wakes a thread names it where a switch names the one before.
    previous, state = events.arg0 & np.uint64(_LOW), events.arg0 >> np.uint64(32)
    put_off = switch & (previous == thread) & ((state & np.uint64(_BLOCKED)) == 0)
    woken = events.of("wakeup") & (previous == thread) & (events.arg1 == core)
    runs = np.flatnonzero(switch & ((events.arg1 & np.uint64(_LOW)) == thread))
    begins = np.flatnonzero(put_off | woken)
    then = np.searchsorted(runs, begins)
    begins, then = begins[then < len(runs)], then[then < len(runs)]
    # A thread woken twice before it ran waited once.
    _, first = np.unique(then, return_index=True)
    begins, then = begins[first], then[first]
    return events.time_ns[begins], events.time_ns[runs[then]], begins
