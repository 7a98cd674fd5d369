"""Who sent an interrupt: the sender's event joined to what it made another core do.

A function call is joined by its csd, the kernel's record of one call to one CPU: the sender queues
it, the receiver runs it, and it is not used again in between. A reschedule interrupt has no such
key; the nearest earlier sending to that CPU is taken.

What a core calls on itself, as its own part of a call to all, has no csd: nobody sent it.
"""

from dataclasses import dataclass

import numpy as np

from taut.analysis.explain.arrays import Ints, last_marked
from taut.analysis.explain.events import KIND, Events
from taut.records.layout import EVENT_VECTORS

MOST_NS = 10_000_000
"""An interrupt sent longer ago than this is another one's."""

_RESCHEDULE = EVENT_VECTORS.index("reschedule")


@dataclass(frozen=True)
class Senders:
    """For each event the position of the event that caused it, or -1."""

    of: Ints
    n_calls: int
    n_joined: int


def join_senders(events: Events) -> Senders:
    """Find the sender of each call_entry and each reschedule interrupt."""
    of = np.full(len(events), -1, np.int64)
    calls = events.of("call_entry") & (events.arg0 != 0)
    _join_calls(events, of)
    _join_reschedules(events, of)
    return Senders(of, int(np.count_nonzero(calls)), int(np.count_nonzero(of[calls] >= 0)))


def _join_calls(events: Events, of: Ints) -> None:
    rows = np.flatnonzero(events.of("call_queue", "call_entry"))
    csd, is_queue = events.arg0[rows], events.kind[rows] == KIND["call_queue"]
    # Events are in the order of time already: only the csd has to be sorted, and stays in order.
    order = np.argsort(csd, kind="stable")
    rows, csd, is_queue = rows[order], csd[order], is_queue[order]
    nearest = last_marked(is_queue)
    wanted = ~is_queue & (nearest >= 0)
    entry, queue = rows[wanted], rows[nearest[wanted]]
    _keep(events, of, entry, queue, csd[wanted] == csd[nearest[wanted]])


def _join_reschedules(events: Events, of: Ints) -> None:
    is_entry = events.of("vector_entry") & (events.arg0 == _RESCHEDULE)
    is_send = events.of("ipi_send")
    rows = np.flatnonzero(is_entry | is_send)
    if not len(rows):
        return
    sends = is_send[rows]
    cpu = np.where(sends, events.arg0[rows].astype(np.int64), events.cpu[rows])
    order = np.argsort(cpu, kind="stable")
    rows, cpu, sends = rows[order], cpu[order], sends[order]
    nearest = last_marked(sends)
    wanted = ~sends & (nearest >= 0)
    entry, send = rows[wanted], rows[nearest[wanted]]
    _keep(events, of, entry, send, cpu[wanted] == cpu[nearest[wanted]])


def _keep(events: Events, of: Ints, entry: Ints, sender: Ints, same: object) -> None:
    near = events.time_ns[entry] - events.time_ns[sender] <= MOST_NS
    good = near & np.asarray(same)
    of[entry[good]] = sender[good]
