"""How much of given windows of time lies in gaps."""

import numpy as np

from taut.explain.arrays import Ints, Mask, RangeMaximum
from taut.explain.read.spans import Spans


def covered_by(spans: Spans | None, start: Ints, end: Ints, asked: Mask) -> tuple[Ints, Ints]:
    """How much of each window lies in gaps, in ns, and which gap covers most; -1: none does.

    A window that is not `asked` for gets 0 and -1.
    """
    covered, best = np.zeros(len(start), np.int64), np.full(len(start), -1, np.int64)
    if spans is None or not len(spans):
        return covered, best
    low = np.searchsorted(spans.end_ns, start, "right")
    high = np.searchsorted(spans.start_ns, end, "left")
    rows = np.flatnonzero((high > low) & asked)
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
