"""Stalls of a thread that keeps no log of gaps, from the kernel's events alone.

What the kernel gave to somebody else is seen; what the hypervisor or the firmware took is not.
"""

from dataclasses import dataclass, replace

import numpy as np

from taut.explain.arrays import Ints, Mask
from taut.explain.read.events import KIND, Events, low
from taut.explain.read.names import Names
from taut.explain.read.passages import Passages, Passed
from taut.explain.read.senders import Senders
from taut.explain.read.spans import Spans, Stretches, lost_spans, overlaps, skipped_spans
from taut.explain.walk.calibrate import Calibration
from taut.explain.walk.contexts import Watched
from taut.explain.walk.layers import IDLE
from taut.explain.walk.segments import CLASS_NUMBER, Segments
from taut.explain.walk.timeline import ABOUT_OTHERS, build_timeline
from taut.explain.walk.veto import Vetoed, cut_segments

APART_NS = 500
"""With less time than this between two interruptions the thread did not return to work."""

FAULT_NS = 1_000
"""A page fault has no end event, and without a log of gaps its end is not known either."""

FROM_EVENTS = "kernel"
"""Stands where spans of a log name the thread that kept it."""


@dataclass(frozen=True)
class Stalls:
    """Interruptions of a thread and who had its core."""

    spans: Spans
    segments: Segments
    vetoed: Vetoed
    """The stalls that the veto cut."""
    before_ns: int
    """How long all stalls were together before the veto."""


def find_stalls(
    events: Events,
    watched: Watched,
    names: Names,
    senders: Senders,
    calibration: Calibration,
    passages: Passages | None,
) -> Stalls:
    """Find when a thread did not have its core; a known cost of entry makes stalls longer.

    Where the packets that passed the thread are known, no stall holds one.
    """
    watched = replace(watched, fault_most_ns=FAULT_NS)
    times = events.time_ns[events.cpu == watched.core]
    never = np.empty(0, np.int64)
    kept = _kept(events, times) if len(times) else (never, never)
    whole = build_timeline(events, watched, kept, names, senders)
    before_ns, vetoed = int(whole.length_ns.sum()), Vetoed()
    if passages is not None:
        whole, vetoed = cut_segments(whole, passages, _back_unseen(events, watched))
    spans, segments = _stalled(watched.core, events, whole, calibration, passages)
    return Stalls(spans, segments, vetoed, before_ns)


def _back_unseen(events: Events, watched: Watched) -> Ints:
    """Give when a thread is found to have its core again though no switch to it was recorded.

    Not out of idle: some kernels leave out nearly all switches from there, and then that one is
    missing tells a thread that forwards from no other.
    """
    rows = np.flatnonzero((events.cpu == watched.core) & ~events.of(*ABOUT_OTHERS))
    is_switch = events.kind[rows] == KIND["switch"]
    thread = events.thread[rows]
    left, right = (low(column[rows]) for column in (events.arg0, events.arg1))
    now, then = np.where(is_switch, left, thread), np.where(is_switch, right, thread)
    own = list(watched.threads)
    is_back = np.isin(now[1:], own) & ~np.isin(then[:-1], [IDLE, *own])
    back: Ints = events.time_ns[rows[1:][is_back]]
    return back


def _kept(events: Events, times: Ints) -> Stretches:
    """Give the stretches whose events were kept, from the first event to the last."""
    start, end = skipped_spans(events)
    starts, ends = np.append(times[0], end), np.append(start, times[-1])
    there = (starts <= ends) & (ends >= times[0]) & (starts <= times[-1])
    return starts[there], ends[there]


def _stalled(
    core: int,
    events: Events,
    whole: Segments,
    calibration: Calibration,
    passages: Passages | None,
) -> tuple[Spans, Segments]:
    """Join interruptions that follow closely upon one another to stalls."""
    stall = _numbered(whole, APART_NS)
    starts, ends = _bounds(whole, stall)
    passed = None if passages is None else passages.inside(starts, ends)
    if passed is not None and passed.n.any():
        # A packet came out between two interruptions: they are two stalls.
        alone = _numbered(whole, 0)
        stall = _renumbered(np.where(passed.n[stall] > 0, -1 - alone, stall))
        starts, ends = _bounds(whole, stall)
        passed = None if passages is None else passages.inside(starts, ends)
    segments = _by_stall(whole, stall)
    if len(starts):
        starts, ends = _widen(starts, ends, segments, calibration, passed)
    lost = overlaps(starts, ends, *lost_spans(events, core))
    none = np.zeros(len(starts), np.int64)
    return Spans(FROM_EVENTS, core, starts, ends, none, lost), segments


def _numbered(whole: Segments, apart_ns: int) -> Ints:
    """Give the number of each segment's stall; segments further apart belong to another one."""
    fresh = np.ones(len(whole.start_ns), bool)
    fresh[1:] = whole.start_ns[1:] - whole.end_ns[:-1] > apart_ns
    return np.cumsum(fresh) - 1


def _renumbered(keys: Ints) -> Ints:
    """Number runs of equal keys, from 0."""
    return np.cumsum(np.diff(keys, prepend=keys[:1] - 1) != 0) - 1


def _bounds(whole: Segments, stall: Ints) -> tuple[Ints, Ints]:
    first = np.flatnonzero(np.diff(stall, prepend=-1))
    last = np.append(first[1:] - 1, len(stall) - 1) if len(first) else first
    return whole.start_ns[first], whole.end_ns[last]


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
    start: Ints, end: Ints, segments: Segments, calibration: Calibration, passed: Passed | None
) -> tuple[Ints, Ints]:
    """Add the usual cost of entry and exit, half on each side.

    Not into a neighbour, and not beyond a packet that came out before or after.
    """
    bearing = segments.visit_class != CLASS_NUMBER["none"]
    cost = np.zeros(len(start), np.int64)
    medians = calibration.medians()[segments.visit_class[bearing]]
    np.add.at(cost, segments.visit_span[bearing], medians)
    middle = (end[:-1] + start[1:]) // 2
    low = np.concatenate([[start[0] - cost[0]], middle])
    high = np.concatenate([middle, [end[-1] + cost[-1]]])
    if passed is not None:
        low, high = np.maximum(low, passed.before_ns), np.minimum(high, passed.after_ns)
    return np.maximum(start - cost // 2, low), np.minimum(end + (cost + 1) // 2, high)
