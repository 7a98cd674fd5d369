"""What made each packet of the tail late: its own stall, the queue behind one, or something else.

A packet is stalled where gaps of the device's thread cover half of its excess or more; of several
causes the one that covers most is blamed. A packet sent while another late one is still in the
device waits behind it and inherits its cause. That ends when three times the stall's length has
passed: a queue that lasts longer is due to load.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from taut.core.timings import stage
from taut.explain import causes
from taut.explain.arrays import Ints, Mask, at_or, last_marked
from taut.explain.causes import NUMBER
from taut.explain.judge.cover import covered_by
from taut.explain.judge.held import ReceiveRing, held_back, stood_still_ns
from taut.explain.judge.one_line import OneLine
from taut.explain.read.packets import Normal, Tail
from taut.explain.read.spans import Spans, Stretches
from taut.records.documents.trial import Holds

DRAIN_FACTOR = 3
_AFTER_NS = 1_000
_BATCH_SLACK_NS = 2_000


class Relation(IntEnum):
    """How a packet is tied to its cause."""

    STALLED = 0  # the first one a stall met
    QUEUED_BEHIND = 1  # waited behind the same stall: it inherits the cause
    QUEUEING = 2
    BATCHING = 3
    MEASURER = 4
    UNEXPLAINED = 5
    HELD_BACK = 6  # by the device, while the generator stood still


@dataclass(frozen=True)
class Blame:
    """One value for each packet of the tail."""

    relation: Ints
    gap: Ints  # index of the gap blamed: the device's, or the generator's for MEASURER; -1: none
    covered_ns: Ints  # what gaps of that thread (on a floor, the generator's) cover of its window
    island: Ints  # packets in a row of one direction, all late or lost
    is_combined: Mask  # only several causes together cover half of what made it late
    n_vetoed: int = 0  # packets that were out before the stall ended that covers them


@dataclass(frozen=True)
class _Covered:
    """What gaps of the device's thread cover of each packet's way, in ns; no gap is -1."""

    total_ns: Ints  # its stalls
    longest: Ints  # of these the gap that covers most
    cause_ns: Ints  # those of the cause that covers most
    gap: Ints  # of these the gap that covers most
    working_ns: Ints  # gaps that are full of its own packets: they stall nobody

    def is_busy(self, needed: Ints) -> Mask:
        """Mark where the device's own packets cover half of what is to be explained."""
        return (self.working_ns > 0) & (2 * self.working_ns >= needed)


@dataclass(frozen=True)
class _Device:
    """The gaps of the device's thread, and the cause of each."""

    spans: Spans | None
    cause: Ints

    def cover(self, tail: Tail) -> _Covered:
        """Sum what the gaps cover, by cause."""
        work = NUMBER[causes.QUEUEING]
        working, _ = self._cover(tail, self.cause == work)
        total, longest = self._cover(tail, self.cause != work)
        most, gap = np.zeros(len(tail), np.int64), np.full(len(tail), -1)
        for cause in np.setdiff1d(self.cause, [work]).tolist():
            covered, its = self._cover(tail, self.cause == cause)
            gap = np.where(covered > most, its, gap)
            most = np.maximum(covered, most)
        return _Covered(total, longest, most, gap, working)

    def _cover(self, tail: Tail, chosen: Mask) -> tuple[Ints, Ints]:
        rows = np.flatnonzero(chosen)
        spans = None if self.spans is None else self.spans.take(rows)
        covered, gap = covered_by(spans, tail.sent_ns, tail.received_ns, tail.is_late)
        return covered, at_or(rows, gap, -1)

    def outlasts(self, tail: Tail, gap: Ints) -> Mask:
        """Mark packets that were back before their gap ended: it cannot have held them up.

        An iteration of the loop lasts somewhat longer than until its packets have left.
        """
        if self.spans is None or not len(self.spans):
            return np.zeros(len(tail), bool)
        spans, at = self.spans, np.maximum(gap, 0)
        after_ns = max(_AFTER_NS, spans.error_ns) + spans.n_packets[at] * spans.per_packet_ns
        late: Mask = (gap >= 0) & (spans.end_ns[at] > tail.received_ns + after_ns)
        return late


@stage("blaming packets")
def blame_packets(
    tail: Tail,
    normal: Normal,
    line: OneLine | None,
    generator: Spans,
    holds: Holds | None,
    has_device: bool,
    ring: ReceiveRing | None,
    silences: Stretches | None,
) -> Blame:
    """Tie every packet to a gap, or to what else made it late.

    `line` has the gaps of the device; None: there are none. Without a device only the generator
    handles a packet. `ring` is as in held.py. `silences` are times without a packet back or a log:
    who waits for one of them to end is in no queue.
    """
    island = _islands(tail)
    stood, bound = _batched_for(tail, normal, generator, holds)
    needed = tail.latency_ns - np.maximum(normal.base_ns, bound)
    is_batched = tail.is_late & (needed <= 0) & (bound > 0)
    gaps = _Device(None, np.empty(0, np.int64)) if line is None else _Device(line.spans, line.cause)
    device, of_device = gaps.spans, gaps.cover(tail)
    covered, gap = of_device.total_ns, of_device.gap
    by_measurer, its_gap = _by_measurer(tail, generator, has_device)
    measured = tail.is_late & ~is_batched & (2 * by_measurer >= needed) & (by_measurer > 0)
    stalled = tail.is_late & ~is_batched & ~measured & (gap >= 0) & (2 * covered >= needed)
    vetoed = stalled & gaps.outlasts(tail, gap)
    stalled &= ~vetoed
    kept, kept_by = held_back(tail, generator, needed, stood, ring)
    kept &= ~is_batched & ~measured & ~stalled
    until = np.maximum(
        _drained(device, np.where(stalled, of_device.longest, -1), normal),
        _drained(generator, np.where(measured, its_gap, -1), normal),
    )
    root = _roots(tail, island, stalled | measured, until)
    inherits = (root >= 0) & ~stalled & ~measured & ~is_batched & ~kept
    from_root = np.maximum(root, 0)
    relation = np.full(len(tail), Relation.UNEXPLAINED, np.int64)
    # A stall of the generator makes it send late, and a burst of its backlog.
    backlog = tail.is_void & tail.is_late & (tail.sent_ns - tail.due_ns > normal.mean_interval_ns)
    queue = tail.is_late & (_is_queue(tail, normal, bound) | of_device.is_busy(needed))
    if silences is not None:
        queue &= ~_after_silence(tail, island, normal, silences, queue, needed)
    relation[queue] = Relation.QUEUEING
    # Under overload the generator is always late, and the queue would be there without that.
    relation[backlog & ~(queue & normal.is_overloaded)] = Relation.MEASURER
    relation[is_batched] = Relation.BATCHING
    relation[measured] = Relation.MEASURER
    relation[kept] = Relation.HELD_BACK
    chained = np.where(measured[from_root], Relation.MEASURER, Relation.QUEUED_BEHIND)[inherits]
    relation[inherits] = chained
    gap = np.where(measured, its_gap, np.where(stalled, gap, np.where(kept, kept_by, -1)))
    gap = np.where(inherits, gap[from_root], gap)
    relation[stalled] = np.where(_is_first(gap, tail.direction, stalled), 0, 1)[stalled]
    combined = stalled & (2 * of_device.cause_ns < needed)
    combined |= inherits & combined[from_root]
    covered = np.where(combined & inherits, covered[from_root], np.where(vetoed, 0, covered))
    covered = np.where(measured | (not has_device), by_measurer, covered)
    _neighbours(tail, island, relation, gap, combined, device, generator)
    return Blame(relation, gap, covered, island, combined, int(np.count_nonzero(vetoed & ~kept)))


def _batched_for(
    tail: Tail, normal: Normal, generator: Spans, holds: Holds | None
) -> tuple[Ints, Ints]:
    """How long the generator stood still, and the longest latency that batching explains.

    A packet waits until the timer, or until its batch is full. Without a timer, the time in which
    the generator stood still is left out: nobody filled the batch then.
    """
    stood = np.zeros(len(tail), np.int64)
    if holds is None:
        return stood, stood
    if holds.drain_ns is None:
        stood = stood_still_ns(tail, generator)
        held = np.maximum(tail.fill_ns - stood, 0)
    else:
        held = np.minimum(tail.fill_ns, holds.drain_ns)
    return stood, normal.low_ns + held + held // 20 + _BATCH_SLACK_NS


def _islands(tail: Tail) -> Ints:
    """Number the runs of successive packets, as episode.py defines an episode's packets."""
    fresh = np.ones(len(tail), bool)
    fresh[1:] = (tail.seq[1:] != tail.seq[:-1] + 1) | (tail.direction[1:] != tail.direction[:-1])
    return np.cumsum(fresh) - 1


def _by_measurer(tail: Tail, generator: Spans, has_device: bool) -> tuple[Ints, Ints]:
    """How much of a packet's latency the generator's own gaps can have caused.

    Only while it was being sent and while it waited to be received; a gap that passed while the
    packet was inside the device changed nothing.
    """
    if not has_device:
        return covered_by(generator, tail.sent_ns, tail.received_ns, tail.is_late)
    window = tail.received_ns - tail.arrival_window_ns
    start = np.maximum(window, tail.sent_ns)
    arriving, gap = covered_by(generator, start, tail.received_ns, tail.is_late)
    if not len(generator):
        return arriving, gap
    at = np.searchsorted(generator.start_ns, tail.sent_ns, "right") - 1
    known = np.maximum(at, 0)
    end = np.minimum(generator.end_ns[known], start)
    sending = np.where((at >= 0) & tail.is_late, np.maximum(end - tail.sent_ns, 0), 0)
    return arriving + sending, np.where(sending > arriving, known, gap)


def _drained(spans: Spans | None, gap: Ints, normal: Normal) -> Ints:
    """Until when packets may stand in the queue behind each gap; -1: there is no gap.

    Under overload the queue was there before the gap: packets sent after it do not wait for it.
    """
    if spans is None:
        return np.full(len(gap), -1)
    factor = 0 if normal.is_overloaded else DRAIN_FACTOR
    return at_or(spans.end_ns + factor * spans.length_ns, gap, -1)


def _roots(tail: Tail, island: Ints, is_root: Mask, until: Ints) -> Ints:
    """Give for each packet the stalled one before it, in whose queue it stands; -1: none."""
    if not len(tail):
        return np.empty(0, np.int64)
    waits = np.zeros(len(tail), bool)
    behind = tail.received_ns[:-1] > tail.sent_ns[1:]
    # A lost packet breaks no queue: it was in it.
    gone = ~tail.is_late[:-1] | ~tail.is_late[1:]
    waits[1:] = (island[1:] == island[:-1]) & (behind | gone)
    # A chain begins anew at a root that waits for none: what came before it does not matter.
    chain = np.cumsum(~waits)
    last, longest = last_marked(is_root), _longest(chain, is_root, until)
    root = np.full(len(tail), -1)
    # A short stall in the drain of a long one does not end the queue behind that.
    for one in (longest, last):
        known = np.maximum(one, 0)
        good = (one >= 0) & (chain[known] == chain) & (tail.sent_ns <= until[known])
        root = np.where(good, one, root)
    return root


def _longest(chain: Ints, is_root: Mask, until: Ints) -> Ints:
    """Give for each packet, of the roots in its chain up to it, the one that lasts longest."""
    n = len(chain)
    order = np.argsort(np.where(is_root, until, -1), kind="stable")
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    found = order[np.maximum.accumulate(chain * n + rank) % n]
    return np.where(is_root[found], found, -1)


def _is_queue(tail: Tail, normal: Normal, bound_ns: Ints) -> Mask:
    """Whether more packets were in the device than it usually takes to carry them through."""
    through = 0 if normal.is_overloaded else normal.low_ns
    usual = np.maximum(bound_ns, through) // max(normal.mean_interval_ns, 1)
    return tail.in_flight >= 2 * usual + 2


def _after_silence(
    tail: Tail, island: Ints, normal: Normal, silences: Stretches, asked: Mask, needed_ns: Ints
) -> Mask:
    """Mark the chosen packets that a silence held up, or that stand behind such a packet."""
    start, end = silences
    none = np.zeros(len(start), np.int64)
    spans = Spans("silence", -1, start, end, none, none.astype(bool))
    silent, longest = covered_by(spans, tail.sent_ns, tail.received_ns, asked)
    held = asked & (longest >= 0) & (2 * silent >= needed_ns)
    root = _roots(tail, island, held, _drained(spans, np.where(held, longest, -1), normal))
    behind: Mask = held | (root >= 0)
    return behind


def _is_first(gap: Ints, direction: Ints, asked: Mask) -> Mask:
    """Mark the first packet of each gap and direction."""
    rows = np.flatnonzero(asked)
    _, first = np.unique(2 * gap[rows] + (direction[rows] & 1), return_index=True)
    marked = np.zeros(len(gap), bool)
    marked[rows[first]] = True
    return marked


def _reach(tail: Tail, relation: Ints, gap: Ints, device: Spans | None, generator: Spans) -> Ints:
    """How far in time from each late packet its cause may have made others lost, too.

    From a lost one nowhere: it has its cause from another packet, as far as that reaches.
    """
    lasted = tail.latency_ns
    of_generator = np.isin(relation, [Relation.MEASURER, Relation.HELD_BACK])
    for spans, whose in ((device, ~of_generator), (generator, of_generator)):
        rows = np.flatnonzero(whose & (gap >= 0))
        if spans is not None:
            lasted[rows] = np.maximum(lasted[rows], spans.length_ns[gap[rows]])
    return np.where(tail.is_late, DRAIN_FACTOR * lasted, 0)


def _neighbours(
    tail: Tail,
    island: Ints,
    relation: Ints,
    gap: Ints,
    combined: Mask,
    device: Spans | None,
    generator: Spans,
) -> None:
    """Give packets that never came back the blame of a neighbour, preferably the earlier one.

    Not of one further away than its cause reaches: what was lost while a device was away for long
    has nothing to do with what happened as it came back. Changes `relation`, `gap` and `combined`.
    """
    reach_ns = _reach(tail, relation, gap, device, generator)
    lost = ~tail.is_late & (relation == Relation.UNEXPLAINED)
    for step in (1, -1):
        order = slice(None, None, step)
        source = last_marked(~lost[order])
        known = np.maximum(source, 0)
        own, sent = island[order], tail.sent_ns[order]
        good = lost[order] & (source >= 0) & (own[known] == own)
        good &= np.abs(sent - sent[known]) <= reach_ns[order][known]
        taken = relation[order][known]
        taken = np.where(taken == Relation.STALLED, Relation.QUEUED_BEHIND, taken)
        relation[order] = np.where(good, taken, relation[order])
        for column in (gap, combined):
            column[order] = np.where(good, column[order][known], column[order])
        lost = ~tail.is_late & (relation == Relation.UNEXPLAINED)


def queue_reason(n_recent: int, latency_ns: int, normal: Normal) -> str:
    """Say whether a burst or the load made a queue."""
    usual = latency_ns / max(normal.mean_interval_ns, 1)
    return "burst" if n_recent > 2 * usual + 2 else "load"
