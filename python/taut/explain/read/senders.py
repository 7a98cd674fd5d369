"""Who sent an interrupt: the sender's event joined to what it made another core do.

A sender is named where the events' own fields prove it, and nowhere else.

A function call is joined by its csd, the kernel's record of one call to one CPU: the sender queues
it, the receiver runs it, and it is not used again in between.

A reschedule interrupt has no such key. Its sending can be told by having no callback: sendings for
function calls and irq work have one. Interrupts sent while one is pending arrive as one. So the
sender is whoever sent one to that CPU since its previous reschedule interrupt; if several did, any
of them may have raised it, and none is named. Traces of older versions do not say what a sending
was for: they name nobody.

A core's own part of a call to all cores has no csd: nobody sent it.
"""

from dataclasses import dataclass

import numpy as np

from taut.explain.arrays import Ints, Mask, last_marked
from taut.explain.read.events import KIND, Events, low
from taut.records.layout import EVENT_VECTORS

MOST_NS = 10_000_000
"""A sending longer ago than this belongs to another interrupt."""

_RESCHEDULE = EVENT_VECTORS.index("reschedule")


@dataclass(frozen=True)
class Senders:
    """For each event the position of the event that proves who caused it, or -1."""

    of: Ints
    n_calls: int
    n_joined: int


def join_senders(events: Events, n_before: int = 0) -> Senders:
    """Find the sender of each call_entry and each reschedule interrupt.

    The first `n_before` events count as senders only.
    """
    sender_of = np.full(len(events), -1, np.int64)
    calls = events.of("call_entry") & (events.arg0 != 0)
    calls[:n_before] = False
    _join_calls(events, sender_of)
    _join_reschedules(events, sender_of)
    return Senders(
        sender_of, int(np.count_nonzero(calls)), int(np.count_nonzero(sender_of[calls] >= 0))
    )


def _join_calls(events: Events, sender_of: Ints) -> None:
    rows = np.flatnonzero(events.of("call_queue", "call_entry"))
    csd, is_queue = events.arg0[rows], events.kind[rows] == KIND["call_queue"]
    # Events are in the order of time already: only the csd has to be sorted, and stays in order.
    order = np.argsort(csd, kind="stable")
    rows, csd, is_queue = rows[order], csd[order], is_queue[order]
    function = events.arg1[rows]
    is_same = (csd[1:] == csd[:-1]) & (function[1:] == function[:-1])
    # A queueing belongs to one call only: the next one of its csd.
    entry = np.flatnonzero(~is_queue[1:] & is_queue[:-1] & is_same) + 1
    _keep(events, sender_of, rows[entry], rows[entry - 1])


def _join_reschedules(events: Events, sender_of: Ints) -> None:
    is_entry = events.of("vector_entry") & (events.arg0 == _RESCHEDULE)
    is_send = events.of("ipi_send_for") & (events.arg1 == 0)
    rows = np.flatnonzero(is_entry | is_send)
    if not len(rows):
        return
    sends = is_send[rows]
    # The upper half of a sending's argument is where it was sent from.
    cpu = np.where(sends, low(events.arg0[rows]), events.cpu[rows])
    order = np.argsort(cpu, kind="stable")
    rows, cpu, sends = rows[order], cpu[order], sends[order]
    follows = np.zeros(len(rows), bool)
    follows[1:] = sends[:-1] & (cpu[1:] == cpu[:-1])
    entry = np.flatnonzero(follows & ~sends)
    rival = _rivals(events, rows, follows & sends)[entry]
    is_rival = (rival >= 0) & sends[rival] & (cpu[rival] == cpu[entry])
    is_rival &= events.time_ns[rows[entry]] - events.time_ns[rows[rival]] <= MOST_NS
    entry = entry[~is_rival]
    _keep(events, sender_of, rows[entry], rows[entry - 1])


def _rivals(events: Events, rows: Ints, follows_send: Mask) -> Ints:
    """Give the row before a run of sendings by one sender that ends before each row; -1: none.

    If that row is a sending, too, a second sender is possible.
    """
    thread, core = events.thread[rows], events.cpu[rows]
    alike = follows_send.copy()
    # The idle task of every CPU has the same number.
    alike[1:] &= (thread[1:] == thread[:-1]) & (core[1:] == core[:-1])
    first = last_marked(~alike)
    before: Ints = np.full(len(rows), -1)
    before[1:] = first[:-1] - 1
    return before


def _keep(events: Events, sender_of: Ints, entry: Ints, sender: Ints) -> None:
    near = events.time_ns[entry] - events.time_ns[sender] <= MOST_NS
    sender_of[entry[near]] = sender[near]
