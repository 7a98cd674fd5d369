"""How the clocks of two capture files differ, estimated from the lower envelope of latency.

The smallest latency of each stretch of time is the path with nothing in the way.  If it changes
steadily, the clocks drift, or a queue fills; up to what clocks can do nobody could tell the two
apart.  The line below all those points that touches the most central edge of their lower convex
hull is the estimate of Moon, Skelly and Towsley ("Estimation and removal of clock skew from network
delay measurements", INFOCOM 1999).  A constant offset cannot be told from a constant latency: what
is printed as offset is the line's value at the first packet, which is the offset plus the smallest
latency of the path.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from taut.records.documents.capture import ClockEstimate
from taut.records.documents.match import Envelope, MatchReport

Point = tuple[int, int]
"""A time and the smallest latency around it, both in ns."""

_LEAST_POINTS = 8
"""From fewer stretches of time no drift is estimated."""


def estimate_clocks(envelope: Envelope) -> ClockEstimate:
    """Estimate from the envelope of match.json.

    The uncertainty is how far the smallest latencies stray from the line (their 90th percentile):
    the line may be tilted by that much from one end to the other.
    """
    points = [(at, least) for at, least, _ in envelope.bins]
    if not points:
        return ClockEstimate(None, None, None, None, 0)
    points.sort()
    span_ns = points[-1][0] - points[0][0]
    if len(points) < _LEAST_POINTS or span_ns <= 0:
        least = min(latency for _, latency in points)
        return ClockEstimate(None, None, least, None, len(points))
    left, right = _central_edge(lower_hull(points))
    slope = (right[1] - left[1]) / (right[0] - left[0])
    strays = sorted(at_latency - _line(left, slope, at) for at, at_latency in points)
    stray_ns = strays[(9 * len(strays)) // 10]
    return ClockEstimate(
        drift_ppb=1e9 * slope,
        drift_uncertainty_ppb=1e9 * 2 * stray_ns / span_ns,
        offset_ns=round(_line(left, slope, 0)),
        offset_uncertainty_ns=round(stray_ns),
        n_points=len(points),
    )


@dataclass(frozen=True)
class EgressDrift:
    """A drift as taut-match subtracts it: by egress time, counted from the first egress stamp."""

    drift_ppb: float = 0.0
    offset_ns: int = 0
    """What has grown by the first egress stamp."""


def drift_by_egress(clocks: ClockEstimate, report: MatchReport) -> EgressDrift:
    """Turn the drift, which is by ingress time from the first ingress stamp; it has to be known.

    `report` is that of which it was estimated. An egress stamp is 1 + s times the ingress time
    since then, and the offset: a clock that is further by s of ingress time is so by s / (1 + s) of
    egress time. At the first egress stamp it is so by s times the ingress time at that moment.
    """
    assert clocks.drift_ppb is not None and clocks.offset_ns is not None
    per_ns = clocks.drift_ppb / 1e9
    by_egress = per_ns / (1 + per_ns)
    apart_ns = report.egress.first_ns - report.ingress.first_ns - clocks.offset_ns
    return EgressDrift(1e9 * by_egress, round(by_egress * apart_ns))


def lower_hull(points: Sequence[Point]) -> list[Point]:
    """The lower convex hull of points in order of time (Andrew's monotone chain)."""
    hull: list[Point] = []
    for point in points:
        while len(hull) > 1 and _turns_down(hull[-2], hull[-1], point):
            hull.pop()
        if hull and hull[-1][0] == point[0]:
            if hull[-1][1] <= point[1]:
                continue
            hull.pop()
        hull.append(point)
    return hull


def _turns_down(a: Point, b: Point, c: Point) -> bool:
    """Whether b lies on or above the line from a to c, so that it is no corner of the hull."""
    return (b[1] - a[1]) * (c[0] - a[0]) >= (c[1] - a[1]) * (b[0] - a[0])


def _central_edge(hull: Sequence[Point]) -> tuple[Point, Point]:
    """The edge over the middle of the time: the line that leaves the least above it."""
    middle = (hull[0][0] + hull[-1][0]) / 2
    for left, right in pairwise(hull):
        if left[0] <= middle <= right[0]:
            return left, right
    raise AssertionError("a hull of a span above 0 has an edge over its middle")


def _line(through: Point, slope: float, at: int) -> float:
    return through[1] + slope * (at - through[0])
