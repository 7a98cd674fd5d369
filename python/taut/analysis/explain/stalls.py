"""Stalls of a thread that keeps no log of gaps, from the kernel's events alone.

What the kernel gave to somebody else is seen; what the hypervisor or the firmware took is not.
"""

from dataclasses import dataclass, replace

import numpy as np

from taut.analysis.explain.arrays import Ints, Mask
from taut.analysis.explain.calibrate import Calibration
from taut.analysis.explain.events import Events
from taut.analysis.explain.naming import Names
from taut.analysis.explain.segments import CLASS_NUMBER, Segments
from taut.analysis.explain.senders import Senders
from taut.analysis.explain.spans import Spans, Stretches, lost_spans, overlaps, skipped_spans
from taut.analysis.explain.timeline import Watched, build_timeline

APART_NS = 500
"""Less own time than this between two interruptions is no return to work."""

_FAULT_NS = 1_000
"""A page fault has no end event, and without a log of gaps its end is not known either."""


@dataclass(frozen=True)
class Stalls:
    """Interruptions of a thread and who had its core."""

    spans: Spans
    segments: Segments


def find_stalls(
    events: Events,
    core: int,
    thread: int,
    names: Names,
    senders: Senders,
    calibration: Calibration | None = None,
) -> Stalls:
    """Find when a thread did not have its core; a known cost of entry makes stalls longer."""
    rows = events.cpu == core
    if not rows.any():
        return Stalls(*_stalled(core, events, _nothing(names, senders, events, core, thread), None))
    watched = Watched(core, thread, _FAULT_NS)
    whole = build_timeline(events, watched, _kept(events, events.time_ns[rows]), names, senders)
    return Stalls(*_stalled(core, events, whole, calibration))


def _kept(events: Events, times: Ints) -> Stretches:
    """From the first event to the last, without what was not kept: there is no telling who ran."""
    start, end = skipped_spans(events)
    starts, ends = np.append(times[0], end), np.append(start, times[-1])
    there = (starts <= ends) & (ends >= times[0]) & (starts <= times[-1])
    return starts[there], ends[there]


def _nothing(names: Names, senders: Senders, events: Events, core: int, thread: int) -> Segments:
    never = np.empty(0, np.int64)
    return build_timeline(events, Watched(core, thread), (never, never), names, senders)


def _stalled(
    core: int, events: Events, whole: Segments, calibration: Calibration | None
) -> tuple[Spans, Segments]:
    """Cut one long span into stalls."""
    start, end = whole.start_ns, whole.end_ns
    fresh = np.ones(len(start), bool)
    fresh[1:] = start[1:] - end[:-1] > APART_NS
    stall = np.cumsum(fresh) - 1
    segments = _by_stall(whole, stall)
    first = np.flatnonzero(fresh)
    last = np.append(first[1:] - 1, len(start) - 1) if len(first) else first
    starts, ends = start[first], end[last]
    if calibration is not None and len(starts):
        starts, ends = _widen(starts, ends, segments, calibration)
    lost = overlaps(starts, ends, *lost_spans(events, core))
    none = np.zeros(len(starts), np.int64)
    return Spans("kernel", core, starts, ends, none, lost), segments


def _by_stall(whole: Segments, stall: Ints) -> Segments:
    """Number segments and visits by stall; a visit without a segment took no time."""
    held: Mask = np.zeros(len(whole.visit_span), bool)
    held[whole.visit] = True
    number = np.cumsum(held) - 1
    of_visit = np.zeros(len(held), np.int64)
    of_visit[whole.visit[::-1]] = stall[::-1]
    return replace(
        whole,
        span=stall,
        visit=number[whole.visit],
        visit_span=of_visit[held],
        visit_cause=whole.visit_cause[held],
        visit_class=whole.visit_class[held],
        visit_detail=whole.visit_detail[held],
        visit_by=whole.visit_by[held],
        visit_joined=whole.visit_joined[held],
    )


def _widen(
    start: Ints, end: Ints, segments: Segments, calibration: Calibration
) -> tuple[Ints, Ints]:
    """Add the usual cost of entry and exit, half on each side, not into a neighbour."""
    bearing = segments.visit_class != CLASS_NUMBER["none"]
    cost = np.zeros(len(start), np.int64)
    medians = calibration.medians()[segments.visit_class[bearing]]
    np.add.at(cost, segments.visit_span[bearing], medians)
    middle = (end[:-1] + start[1:]) // 2
    low = np.concatenate([[start[0] - cost[0]], middle])
    high = np.concatenate([middle, [end[-1] + cost[-1]]])
    return np.maximum(start - cost // 2, low), np.minimum(end + (cost + 1) // 2, high)
