"""Where each gap's time went: causes, their modelled entry cost, the thread's own work, a residual.

All in whole nanoseconds: the shares of a gap and its residual sum to its length exactly.
"""

from dataclasses import dataclass

import numpy as np

from taut.explain.arrays import Ints
from taut.explain.read.spans import Spans
from taut.explain.walk.calibrate import Calibration
from taut.explain.walk.segments import N_CAUSES, Segments


@dataclass(frozen=True)
class Shares:
    """One row for each gap and cause in it, sorted by gap; and one value for each gap."""

    gap: Ints
    cause: Ints
    net_ns: Ints
    model_ns: Ints  # entry cost of this cause, median
    limit_ns: Ints  # entry cost that would still be usual
    visit: Ints  # the longest visit of that cause in the gap, whose details reports show
    n_visits: Ints
    work_ns: Ints  # by gap: packets the iteration handled
    residual_ns: Ints  # by gap: what nothing explains

    def rows_of(self, gap: int) -> range:
        """The rows of one gap."""
        low, high = np.searchsorted(self.gap, [gap, gap + 1])
        return range(int(low), int(high))


def share_out(spans: Spans, segments: Segments, calibration: Calibration) -> Shares:
    """Share out the time of every gap."""
    n = len(spans)
    net_visit = np.zeros(len(segments.visit_span), np.int64)
    np.add.at(net_visit, segments.visit, segments.length_ns)
    key = segments.visit_span.astype(np.int64) * N_CAUSES + segments.visit_cause
    rows, of_row = np.unique(key, return_inverse=True)
    gap, cause = rows // N_CAUSES, rows % N_CAUSES

    net = _sum(of_row, net_visit, len(rows))
    model = _sum(of_row, calibration.medians()[segments.visit_class], len(rows))
    limit = _sum(of_row, calibration.limits()[segments.visit_class], len(rows))
    visit = _longest(of_row, net_visit, len(rows))

    left = spans.length_ns - _sum(gap, net, n)
    model = _fit(model, gap, left)
    limit = _fit(limit, gap, left)
    left = left - _sum(gap, model, n)
    work = np.minimum(spans.n_packets * spans.per_packet_ns, left)
    n_visits = np.bincount(of_row, minlength=len(rows)).astype(np.int64)
    return Shares(gap, cause, net, model, limit, visit, n_visits, work, left - work)


def _sum(index: Ints, values: Ints, n: int) -> Ints:
    total = np.zeros(n, np.int64)
    np.add.at(total, index, values)
    return total


def _longest(of_row: Ints, net: Ints, n: int) -> Ints:
    found = np.zeros(n, np.int64)
    order = np.argsort(net, kind="stable")
    found[of_row[order]] = order  # the last one written is the longest
    return found


def _fit(asked: Ints, gap: Ints, left: Ints) -> Ints:
    """Scale down what the model asks for until it fits into what a gap has left."""
    total = _sum(gap, asked, len(left))
    has, wants = left[gap], np.maximum(total[gap], 1)
    # Floating point may be a nanosecond high: down to the whole one below, never above.
    cut = np.floor(asked * (has / wants) * (1 - 1e-12)).astype(np.int64)
    return np.where(total[gap] > has, np.clip(cut, 0, asked), asked)
