"""Which of a thread's gaps may be told one by one: near late packets, or among the longest."""

import numpy as np

from taut.explain.arrays import Mask
from taut.explain.read.packets import Tail
from taut.explain.read.spans import Spans, Stretches, merged, overlaps

MARGIN_NS = 100_000
"""Gaps so near to a late packet, or to a gap that it met, are told: so much is drawn beside it."""


class Told:
    """Gaps of one thread, all seen before any is asked for."""

    def __init__(self, around: Stretches, n_longest: int) -> None:
        """`around`: the time around late packets (around_late)."""
        self._around, self._n_longest = around, n_longest
        none = np.empty(0, np.int64)
        self._met: list[Stretches] = [(none, none)]
        self._longest = self._longest_ns = none

    def see(self, spans: Spans) -> None:
        """See some gaps, later than those before."""
        met = overlaps(spans.start_ns, spans.end_ns, *self._around)
        self._met.append((spans.start_ns[met], spans.end_ns[met]))
        start = np.append(self._longest, spans.start_ns)
        length = np.append(self._longest_ns, spans.length_ns)
        order = np.argsort(-length, kind="stable")[: self._n_longest]
        self._longest, self._longest_ns = start[order], length[order]

    def mark(self, spans: Spans) -> Mask:
        """Mark those that may be told."""
        start, end = (np.concatenate(times) for times in zip(*self._met, strict=True))
        self._met = [(start, end)]
        beside = merged(start - MARGIN_NS, end + MARGIN_NS)
        told = overlaps(spans.start_ns, spans.end_ns, *beside)
        return told | np.isin(spans.start_ns, self._longest)


def around_late(tail: Tail) -> Stretches:
    """Give when late packets were on their way, and so much before and after it."""
    # A packet may also have waited in the generator's ring since before it was looked for in vain.
    late = tail.is_late
    arrived = tail.received_ns[late] - tail.arrival_window_ns[late]
    start, end = np.minimum(tail.sent_ns[late], arrived), tail.received_ns[late]
    order = np.argsort(start, kind="stable")
    return merged(start[order] - MARGIN_NS, end[order] + MARGIN_NS)
