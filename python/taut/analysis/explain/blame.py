"""What made each packet of the tail late: its own stall, the queue behind one, or something else.

A stall is a gap of the device's thread that covers half of a packet's excess or more.  Who is sent
while another late packet is still inside waits behind it, and inherits its cause, until three
times the stall's length has passed: a queue that is longer lived is one of load.
"""

from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from taut.analysis.explain.arrays import Ints, Mask, RangeMaximum, last_marked
from taut.analysis.explain.packets import Normal, Tail
from taut.analysis.explain.spans import Spans

DRAIN_FACTOR = 3
_BATCH_SLACK_NS = 2_000


class Relation(IntEnum):
    """How a packet is tied to its cause."""

    STALLED = 0  # the first one a stall met
    QUEUED_BEHIND = 1  # waited behind the same stall: it inherits the cause
    QUEUEING = 2
    BATCHING = 3
    MEASURER = 4
    UNEXPLAINED = 5


@dataclass(frozen=True)
class Blame:
    """One value for each packet of the tail."""

    relation: Ints
    gap: Ints  # of the device's thread (of the generator's where it is the measurer), -1: none
    covered_ns: Ints  # what gaps of that thread cover of its window
    island: Ints  # packets in a row of one direction, all late or lost


@dataclass(frozen=True)
class Batching:
    """A transmit policy that holds packets back."""

    drain_ns: int | None = 100_000  # None: no timer
    packets: int = 32

    def bound_ns(self, tail: Tail, normal: Normal) -> Ints:
        """The longest latency that it explains: until the timer, or until the batch was full."""
        held = tail.fill_ns if self.drain_ns is None else np.minimum(tail.fill_ns, self.drain_ns)
        return normal.low_ns + held + held // 20 + _BATCH_SLACK_NS


@dataclass(frozen=True)
class _Device:
    """The gaps of the device's thread: its stalls, and iterations full of packets."""

    spans: Spans | None
    is_work: Mask | None

    def cover(self, tail: Tail, work: bool) -> tuple[Ints, Ints]:
        """How much of each window such gaps cover, and which of all gaps covers most."""
        spans = self.spans
        if spans is None or self.is_work is None:
            return _covered(None if work else spans, tail.sent_ns, tail.received_ns, tail.is_late)
        of = np.flatnonzero(self.is_work == work)
        chosen = replace(
            spans,
            start_ns=spans.start_ns[of],
            end_ns=spans.end_ns[of],
            n_packets=spans.n_packets[of],
            is_lost=spans.is_lost[of],
        )
        covered, gap = _covered(chosen, tail.sent_ns, tail.received_ns, tail.is_late)
        return covered, np.where(gap >= 0, of[np.maximum(gap, 0)] if len(of) else -1, -1)


def blame_packets(
    tail: Tail,
    normal: Normal,
    device: Spans | None,
    generator: Spans,
    batching: Batching | None,
    is_work: Mask | None = None,
) -> Blame:
    """Tie every packet to a gap, or to what else made it late.

    `is_work` marks gaps of the device that its own packets explain: they stall nobody.
    """
    island = _islands(tail)
    bound = np.zeros(len(tail), np.int64)
    if batching is not None:
        bound = batching.bound_ns(tail, normal)
    needed = tail.latency_ns - np.maximum(normal.base_ns, bound)
    is_batched = tail.is_late & (needed <= 0) & (bound > 0)
    gaps = _Device(device, is_work)
    covered, gap = gaps.cover(tail, work=False)
    working, _ = gaps.cover(tail, work=True)
    by_measurer, its_gap = _by_measurer(tail, generator)

    measured = tail.is_late & ~is_batched & (2 * by_measurer >= needed) & (by_measurer > 0)
    stalled = tail.is_late & ~is_batched & ~measured & (gap >= 0) & (2 * covered >= needed)
    until = np.maximum(
        _drained(device, np.where(stalled, gap, -1), normal),
        _drained(generator, np.where(measured, its_gap, -1), normal),
    )
    root = _roots(tail, island, stalled | measured, until)
    inherits = (root >= 0) & ~stalled & ~measured & ~is_batched
    from_root = np.maximum(root, 0)

    relation = np.full(len(tail), Relation.UNEXPLAINED, np.int64)
    # A stall of the generator makes it send late, and a burst of its backlog.
    backlog = tail.is_void & tail.is_late & (tail.sent_ns - tail.due_ns > normal.mean_interval_ns)
    queue = tail.is_late & (
        _is_queue(tail, normal, bound) | (2 * working >= needed) & (working > 0)
    )
    relation[queue] = Relation.QUEUEING
    # Under overload it is always late, and the queue would be there all the same.
    relation[backlog & ~(queue & normal.is_overloaded)] = Relation.MEASURER
    relation[is_batched] = Relation.BATCHING
    relation[measured] = Relation.MEASURER
    chained = np.where(measured[from_root], Relation.MEASURER, Relation.QUEUED_BEHIND)
    relation[inherits] = chained[inherits]
    gap = np.where(measured, its_gap, np.where(stalled, gap, -1))
    gap = np.where(inherits, gap[from_root], gap)
    relation[stalled] = np.where(_is_first(gap, tail.direction, stalled), 0, 1)[stalled]
    relation, gap = _neighbours(tail, island, relation, gap)
    return Blame(relation, gap, np.where(measured, by_measurer, covered), island)


def _islands(tail: Tail) -> Ints:
    """Number the runs of successive packets, as episode.py defines an episode's packets."""
    fresh = np.ones(len(tail), bool)
    fresh[1:] = (tail.seq[1:] != tail.seq[:-1] + 1) | (tail.direction[1:] != tail.direction[:-1])
    return np.cumsum(fresh) - 1


def _covered(spans: Spans | None, start: Ints, end: Ints, of: Mask) -> tuple[Ints, Ints]:
    """How much of each window lies in gaps, and which gap covers most."""
    covered, best = np.zeros(len(start), np.int64), np.full(len(start), -1, np.int64)
    if spans is None or not len(spans):
        return covered, best
    low = np.searchsorted(spans.end_ns, start, "right")
    high = np.searchsorted(spans.start_ns, end, "left")
    rows = np.flatnonzero((high > low) & of)
    if not len(rows):
        return covered, best
    low, high, start, end = low[rows], high[rows], start[rows], end[rows]
    total = np.concatenate([[0], np.cumsum(spans.length_ns)])
    first_cut = np.maximum(start - spans.start_ns[low], 0)
    last_cut = np.maximum(spans.end_ns[high - 1] - end, 0)
    covered[rows] = total[high] - total[low] - first_cut - last_cut
    # Only the first and the last gap may be cut by the window; those between are whole.
    cut = _overlap(spans, high - 1, start, end) > _overlap(spans, low, start, end)
    found = np.where(cut, high - 1, low)
    inner = np.flatnonzero(high - low > 2)
    if len(inner):
        whole = RangeMaximum(spans.length_ns).at(low[inner] + 1, high[inner] - 1)
        more = spans.length_ns[whole] > _overlap(spans, found[inner], start[inner], end[inner])
        found[inner[more]] = whole[more]
    best[rows] = found
    return covered, best


def _overlap(spans: Spans, gap: Ints, start: Ints, end: Ints) -> Ints:
    return np.minimum(spans.end_ns[gap], end) - np.maximum(spans.start_ns[gap], start)


def _by_measurer(tail: Tail, generator: Spans) -> tuple[Ints, Ints]:
    """How much of a packet's latency the generator's own gaps can have made.

    Only while it was being sent and while it waited to be received; a gap that passed while the
    packet was inside the device changed nothing.
    """
    window = tail.received_ns - tail.arrival_window_ns
    start = np.maximum(window, tail.sent_ns)
    arriving, gap = _covered(generator, start, tail.received_ns, tail.is_late)
    if not len(generator):
        return arriving, gap
    at = np.searchsorted(generator.start_ns, tail.sent_ns, "right") - 1
    known = np.maximum(at, 0)
    end = np.minimum(generator.end_ns[known], start)
    sending = np.where((at >= 0) & tail.is_late, np.maximum(end - tail.sent_ns, 0), 0)
    return arriving + sending, np.where(sending > arriving, known, gap)


def _drained(spans: Spans | None, gap: Ints, normal: Normal) -> Ints:
    """Until when packets may stand in the queue behind each gap; -1: there is no gap.

    Under overload the queue was there before, and who comes after the gap does not stand behind it.
    """
    if spans is None or not len(spans):
        return np.full(len(gap), -1)
    at = np.maximum(gap, 0)
    factor = 0 if normal.is_overloaded else DRAIN_FACTOR
    return np.where(gap >= 0, spans.end_ns[at] + factor * spans.length_ns[at], -1)


def _roots(tail: Tail, island: Ints, is_root: Mask, until: Ints) -> Ints:
    """For each packet the held-up one before it whose queue it stands in, or -1."""
    if not len(tail):
        return np.empty(0, np.int64)
    waits = np.zeros(len(tail), bool)
    behind = tail.received_ns[:-1] > tail.sent_ns[1:]
    # A lost packet breaks no queue: it was in it.
    gone = ~tail.is_late[:-1] | ~tail.is_late[1:]
    waits[1:] = (island[1:] == island[:-1]) & (behind | gone)
    root = last_marked(is_root)
    broken = last_marked(~waits & ~is_root)
    known = np.maximum(root, 0)
    # Where the chain begins anew at a root, what is before it does not matter.
    good = (root >= 0) & (root > broken) & (island[known] == island)
    return np.where(good & (tail.sent_ns <= until[known]), root, -1)


def _is_queue(tail: Tail, normal: Normal, bound_ns: Ints) -> Mask:
    """Whether more packets were in the device than it usually takes to carry them through."""
    through = 0 if normal.is_overloaded else normal.low_ns
    usual = np.maximum(bound_ns, through) // max(normal.mean_interval_ns, 1)
    return tail.in_flight >= 2 * usual + 2


def _is_first(gap: Ints, direction: Ints, of: Mask) -> Mask:
    """Mark the first packet of each gap and direction."""
    rows = np.flatnonzero(of)
    _, first = np.unique(2 * gap[rows] + (direction[rows] & 1), return_index=True)
    marked = np.zeros(len(gap), bool)
    marked[rows[first]] = True
    return marked


def _neighbours(tail: Tail, island: Ints, relation: Ints, gap: Ints) -> tuple[Ints, Ints]:
    """A packet that never came back has the cause of its neighbours, the earlier one first."""
    lost = ~tail.is_late & (relation == Relation.UNEXPLAINED)
    for step in (1, -1):
        order = slice(None, None, step)
        source = last_marked(~lost[order])
        known = np.maximum(source, 0)
        own = island[order]
        good = lost[order] & (source >= 0) & (own[known] == own)
        taken = relation[order][known]
        taken = np.where(taken == Relation.STALLED, Relation.QUEUED_BEHIND, taken)
        relation[order] = np.where(good, taken, relation[order])
        gap[order] = np.where(good, gap[order][known], gap[order])
        lost = ~tail.is_late & (relation == Relation.UNEXPLAINED)
    return relation, gap


def queue_reason(n_recent: int, latency_ns: int, normal: Normal) -> str:
    """Whether a queue is one of a burst or of load."""
    usual = latency_ns / max(normal.mean_interval_ns, 1)
    return "burst" if n_recent > 2 * usual + 2 else "load"
