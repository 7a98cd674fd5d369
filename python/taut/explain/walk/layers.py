"""Who had a core, as layers of intervals: interrupts, softirqs, threads.

For a device that has no thread of its own. Nothing has to be known of the time before: any stretch
of the trace can be looked at by itself.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from taut.explain.arrays import BEFORE_ALL, Ints, Mask, Numbers, at_or, interval_holding
from taut.explain.read.events import KIND, LOW, Events, high, low
from taut.explain.read.names import SOFTIRQS, Names
from taut.explain.walk.running import ORDINARY
from taut.testbed.cleanup import LINK_PREFIX

NET_RX = SOFTIRQS.index("NET_RX")

IDLE = 0
"""Id of the idle task: the core has nothing to do."""

SENT_WITHIN_NS = 10_000
"""A core that does not poll is sent an interrupt within this time of a call queued for it."""

NMI_APART_NS = 1_000
"""Handlers follow one another within this time in one non-maskable interrupt, which runs them all
(arch/x86/kernel/nmi.c, nmi_handle)."""

_DELIVERIES = ("rps_trigger_softirq",)  # net/core/dev.c
_WAKE_CALL = "sched_ttwu_pending"  # kernel/sched/core.c

_BY_WHO_RUNS = (
    *("switch", "softirq_entry", "softirq_exit"),
    *("vector_entry", "vector_exit", "irq_entry", "irq_exit"),
)
"""Events noted by the thread that has the core; a switch by the one that leaves.

Others are not: tlb_flush is noted by the thread before, once it has been switched away from."""

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
    turns, who = turns_on(events, core)
    return Layers(
        _nmis(events, own),
        # A core's own part of a call to all cores has no csd: the running thread keeps running.
        _pairs(events, own & (events.arg0 != 0), ("call_entry",), ("call_exit",)),
        _pairs(events, own, ("vector_entry", "irq_entry"), ("vector_exit", "irq_exit")),
        _pairs(events, own, ("softirq_entry",), ("softirq_exit",)),
        turns,
        who,
        _waits(events, core, names, turns, who),
    )


def with_unseen_switches(events: Events, core: int, threads: Collection[int]) -> Events:
    """Add the switches from the idle task to others than `threads` that were not recorded.

    Whose turn it was their own events tell (`turns_on`); its priority its other turns or wake-ups.
    """
    turns, who = turns_on(events, core)
    following = low(events.arg1[turns.row])
    is_seen = (events.kind[turns.row] == KIND["switch"]) & (following == who)
    after_idle = np.append(np.zeros(1, bool), who[:-1] == IDLE)[: len(who)]
    unseen = np.flatnonzero(~is_seen & after_idle & ~np.isin(who, [IDLE, *threads]))
    if not len(unseen):
        return events
    priority = _priorities(events, who[unseen]).astype(np.uint64)
    return events.with_more(
        "switch",
        turns.start_ns[unseen],
        thread=0,
        cpu=core,
        arg0=0,
        arg1=who[unseen].astype(np.uint64) | priority << np.uint64(32),
    )


def with_called_wake_ups(events: Events, core: int, names: Names, threads: Iterable[int]) -> Events:
    """Add a wake-up of a thread where another core tells this one to wake it.

    A core that idles is told, and notes the wake-up itself, once it has left idle
    (kernel/sched/core.c, ttwu_queue_wakelist).
    """
    queued = events.of("call_queue")
    found = [
        (one, np.flatnonzero(is_wake_call(events, core, names, one) & queued)) for one in threads
    ]
    told = np.concatenate([rows for _, rows in found])
    if not len(told):
        return events
    woken = np.repeat([one for one, _ in found], [len(rows) for _, rows in found])
    order = np.argsort(told)
    told = told[order]
    return events.with_more(
        "wakeup",
        events.time_ns[told],
        thread=events.thread[told],
        cpu=events.cpu[told],
        arg0=woken[order].astype(np.uint64),
        arg1=core,
    )


def _priorities(events: Events, threads: Ints) -> Ints:
    """Give the priority that each thread had most recently in the trace; else an ordinary one.

    A thread that only ever got the core from the idle task is in no switch, but in its wake-ups.
    Of older traces these say 0, which is also what they say of a thread of the highest priority.
    """
    said = high(events.arg1)
    woken = events.of("wakeup") & (said != 0)
    rows = np.flatnonzero(events.of("switch") | woken)[::-1]
    whose = low(np.where(woken, events.arg0, events.arg1)[rows])
    to, last = np.unique(whose, return_index=True)
    at = np.minimum(np.searchsorted(to, threads), len(to) - 1)
    priority = said[rows][last]
    return np.where(to[at] == threads, priority[at], ORDINARY)


def network_threads(names: Names, core: int) -> Numbers:
    """The threads that carry a run's packets on a core: ksoftirqd, and the NAPI ones of its links.

    Another network card's NAPI thread may have the core, too: to the run it is somebody else.
    """
    found = [
        thread
        for thread, name in names.notes.threads.items()
        if name == f"ksoftirqd/{core}" or name.startswith(f"napi/{LINK_PREFIX}")
    ]
    return np.array(found, np.uint64)


def is_delivery(events: Events, names: Names) -> Mask:
    """Mark the calls by which one core tells another that it has packets for it."""
    known = [at for at in names.notes.functions if names.function(at) in _DELIVERIES]
    calls = events.of("call_queue", "call_entry", "call_exit")
    marked: Mask = calls & np.isin(events.arg1, np.array(known, np.uint64))
    return marked


def is_wake_call(events: Events, core: int, names: Names, thread: int) -> Mask:
    """Mark the calls by which other cores have this one wake a thread.

    Each thread has a csd of its own for that: it is known by the wake-ups inside the calls.
    """
    known = [at for at in names.notes.functions if names.function(at) == _WAKE_CALL]
    calls = events.of("call_queue", "call_entry", "call_exit")
    calls &= np.isin(events.arg1, np.array(known, np.uint64))
    entries = np.flatnonzero(calls & events.of("call_entry") & (events.cpu == core))
    wakes = np.flatnonzero(events.of("wakeup") & (events.cpu == core))
    then = np.searchsorted(wakes, entries)
    entries, then = entries[then < len(wakes)], then[then < len(wakes)]
    csds, at = np.unique(events.arg0[entries], return_inverse=True)
    is_its = low(events.arg0[wakes[then]]) == thread
    share = np.bincount(at, is_its, len(csds)) / np.maximum(np.bincount(at, minlength=len(csds)), 1)
    marked: Mask = calls & np.isin(events.arg0, csds[share > 0.5])
    return marked


def interrupts_sent(events: Events, core: int) -> Ints:
    """When other cores sent this one an interrupt."""
    # The upper half of the newer kind's is where it was sent from.
    is_to_core = low(events.arg0) == core
    times: Ints = events.time_ns[events.of("ipi_send", "ipi_send_for") & is_to_core]
    return times


def sleeps_deeply(events: Events, core: int, times: Ints) -> Mask:
    """Mark the times before which the core went idle in a state that sleeps, and noted no more.

    On x86 state 0 polls; the others sleep. By MWAIT they need no interrupt to be woken. Where the
    last that the core noted is something else, nobody knows how it idles.
    """
    rows = np.flatnonzero(is_of_core(events, core))
    asleep = events.of("idle")[rows] & ~np.isin(low(events.arg0[rows]), [0, LOW])
    last = np.searchsorted(events.time_ns[rows], times) - 1
    deep: Mask = at_or(asleep, last, False)
    return deep


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
    """Give the non-maskable interrupts, each by the handler in it that took longest.

    Their events are stamped at a handler's end.
    """
    rows = np.flatnonzero(own & events.of("nmi"))
    took, end = events.arg1[rows].astype(np.int64), events.time_ns[rows]
    start = np.maximum(end - took, np.append(BEFORE_ALL, end)[:-1])
    fresh = np.append(True, start[1:] - end[:-1] > NMI_APART_NS)[: len(rows)]
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], len(rows))[: len(first)] - 1
    longest = np.lexsort((took, np.cumsum(fresh)))[last]
    return Layer(start[first], end[last], rows[longest])


def turns_on(events: Events, core: int) -> tuple[Layer, Ints]:
    """Give the turns of threads and each one's thread; the first is of who leaves at its end.

    Every event says who has the core. Where that is not who was switched to, a switch was not
    recorded: some guests record none that the idle task makes.
    """
    rows = np.flatnonzero((events.cpu == core) & events.of(*_BY_WHO_RUNS))
    if not len(rows):
        nothing = np.empty(0, np.int64)
        return Layer(nothing, nothing, nothing), nothing
    is_switch = events.kind[rows] == KIND["switch"]
    noter = events.thread[rows].astype(np.int64)
    following = np.where(is_switch, low(events.arg1[rows]), noter)
    unseen = np.flatnonzero(noter[1:] != following[:-1]) + 1
    if not is_switch.any():
        unseen = unseen[:0]
    times = events.time_ns[rows]
    began = _began(events, core, rows[unseen], rows[unseen - 1], noter[unseen])
    start = np.concatenate([times[:1] - 1, times[is_switch], began])
    who = np.concatenate([noter[:1], following[is_switch], noter[unseen]])
    row = np.concatenate([rows[:1], rows[is_switch], rows[unseen]])
    # What was not recorded came before the event that shows it.
    order = np.argsort(np.concatenate([[-1], np.flatnonzero(is_switch), unseen - 0.5]))
    start, who, row = start[order], who[order], row[order]
    return Layer(start, np.append(start[1:], events.time_ns[-1] + 1), row), who


def _began(events: Events, core: int, seen: Ints, before: Ints, who: Ints) -> Ints:
    """Give when threads got the core that nothing shows to get it; rows of events, and threads.

    At the last event of the thread before, or when the new one was ready if that was later. If
    nothing says when it was ready, it has the core from its own first event on.
    """
    switch = events.of("switch") & (events.cpu == core)
    rows = np.flatnonzero(switch | events.woken_on(core))
    thread = low(events.arg0[rows])
    is_ready = ~switch[rows] | _is_put_off(events)[rows]
    began: Ints = events.time_ns[seen]
    for one in np.unique(who).tolist():
        of_one, its = thread == one, np.flatnonzero(who == one)
        last = np.searchsorted(rows[of_one], seen[its]) - 1
        known = at_or(is_ready[of_one], last, False)
        since = events.time_ns[rows[of_one][last[known]]]
        began[its[known]] = np.maximum(events.time_ns[before[its[known]]], since)
    return began


def _is_put_off(events: Events) -> Mask:
    """Mark the switches away from a thread that wanted to run on."""
    put_off: Mask = (high(events.arg0) & _BLOCKED) == 0
    return put_off


def _waits(events: Events, core: int, names: Names, turns: Layer, who: Ints) -> Layer:
    """Give the waits of network threads: from wake-up, or losing the core, until they have it."""
    found = [
        _waits_of(events, core, names, int(thread), turns.start_ns[who == thread])
        for thread in network_threads(names, core)
    ]
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


def _waits_of(
    events: Events, core: int, names: Names, thread: int, runs: Ints
) -> tuple[Ints, Ints, Ints]:
    # What wakes a thread names it where a switch names the one before.
    is_its = low(events.arg0) == thread
    put_off = events.of("switch") & (events.cpu == core) & _is_put_off(events)
    woken = events.woken_on(core)
    called = is_wake_call(events, core, names, thread) & events.of("call_queue")
    begins = np.flatnonzero(is_its & (put_off | woken) | called)
    then = np.searchsorted(runs, events.time_ns[begins])
    begins, then = begins[then < len(runs)], then[then < len(runs)]
    # A thread woken twice before it ran waited once.
    _, first = np.unique(then, return_index=True)
    begins, then = begins[first], then[first]
    return events.time_ns[begins], runs[then], begins
