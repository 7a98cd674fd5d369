"""How many events of a trace a counter should have counted, and whether it did.

The kernel's counters are read right before and right after the trace. A counter agrees in number
with the trace if it moved by as many as there are events of its kind: none that it counted is
missing from the record, and none was recorded that it did not count. A counter that only moved
proves nothing about any single event.
"""

from collections.abc import Callable, Mapping

import numpy as np

from taut.explain.arrays import Mask
from taut.explain.read.events import Events, TraceNotes, high, low
from taut.explain.read.names import Names
from taut.records.layout import EVENT_VECTORS

# include/trace/events/sched.h: what sched_switch says of a thread that is preempted. One that goes
# on being runnable has 0. The kernel counts both as involuntary (__schedule in its sched/core.c).
_PREEMPTED = 0x100

_REMOTE_SHOOTDOWN = 1  # enum tlb_flush_reason

# A counter is read a moment before the trace is armed and a moment after it is stopped.
_FEWEST_WITH_ONE_MORE = 10
_ONE_IN = 100


def agrees(recorded: int, counted: int) -> bool:
    """Whether a counter moved by the number of events recorded.

    Up to nine events it has to be the same number; from ten on one may be missing, and one in a
    hundred more, for what came between reading the counter and the trace's begin or end.
    """
    most = counted // _ONE_IN + (counted >= _FEWEST_WITH_ONE_MORE)
    return recorded > 0 and abs(counted - recorded) <= most


def is_whole(events: Events) -> bool:
    """Whether every event was kept; with `--trace tail` some are not, and numbers say nothing."""
    return not bool(np.any(events.of("skipped")))


def n_recorded(
    events: Events, counter: str, core: int, thread: int | None, notes: TraceNotes
) -> int | None:
    """Count the events that move a counter (`Cause.counter`) of a core or thread by one each.

    None: no events do.
    """
    if counter in _OF_THREADS:
        return (
            None if thread is None else int(np.count_nonzero(_OF_THREADS[counter](events, thread)))
        )
    on_core = events.cpu == core
    if counter in _OF_VECTORS:
        vectors = [EVENT_VECTORS.index(name) for name in _OF_VECTORS[counter]]
        counted = events.of("vector_entry") & np.isin(events.arg0, vectors)
    elif counter in _OF_KINDS:
        counted = events.of(_OF_KINDS[counter])
    elif counter == "interrupts:NMI":
        return _n_nmis(events, on_core)
    elif counter == "interrupts:TLB":
        counted = _flushes(events, notes)
    else:
        return None
    return int(np.count_nonzero(counted & on_core))


_OF_VECTORS: Mapping[str, tuple[str, ...]] = {
    "interrupts:LOC": ("local_timer",),
    "interrupts:RES": ("reschedule",),
    "interrupts:CAL": ("call_function", "call_function_single"),
    "interrupts:IWI": ("irq_work",),
}

_OF_KINDS: Mapping[str, str] = {
    "interrupts:devices": "irq_entry",
    "interrupts:MCE": "machine_check",
    "softirqs:any": "softirq_entry",
}


def _n_nmis(events: Events, on_core: Mask) -> int:
    """Count the non-maskable interrupts: each has every handler run (arch/x86/kernel/nmi.c)."""
    handlers = events.arg0[events.of("nmi") & on_core]
    return int(np.unique(handlers, return_counts=True)[1].max(initial=0))


def _flushes(events: Events, notes: TraceNotes) -> Mask:
    """Mark flushes for other cores (arch/x86/mm/tlb.c, flush_tlb_func)."""
    if notes.lacks("csd/"):
        remote: Mask = events.of("tlb_flush") & (events.arg0 == _REMOTE_SHOOTDOWN)
        return remote
    names = Names(notes)
    flush = [a for a in notes.functions if names.function(a) == "flush_tlb_func"]
    calls: Mask = events.of("call_entry") & (events.arg0 != 0)
    return calls & np.isin(events.arg1, np.array(flush, np.uint64))


def _left(events: Events, thread: int) -> tuple[Mask, Mask]:
    """Mark the switches away from a thread; and, among all events, those of a runnable thread."""
    state = high(events.arg0)
    left = events.of("switch") & (low(events.arg0) == thread)
    return left, (state == 0) | (state == _PREEMPTED)


def _involuntary(events: Events, thread: int) -> Mask:
    left, may_run = _left(events, thread)
    return left & may_run


def _voluntary(events: Events, thread: int) -> Mask:
    left, may_run = _left(events, thread)
    return left & ~may_run


def _faults(events: Events, thread: int) -> Mask:
    faults: Mask = events.of("page_fault") & (events.thread == thread)
    return faults


_OF_THREADS: Mapping[str, Callable[[Events, int], Mask]] = {
    "threads:nonvoluntary": _involuntary,
    "threads:voluntary": _voluntary,
    "threads:minflt": _faults,
}
