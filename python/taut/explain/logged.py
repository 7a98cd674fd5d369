"""The gaps of the polling threads of a trial, judged window by window of their events.

A window is walked twice, except for the first one: what interrupts cost outside their handlers is
learnt from the gaps of all windows, and only then any can be judged. Of what was judged those gaps
stay that may be told one by one; the others stay as sums.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from taut.explain.arrays import BEFORE_ALL, Mask
from taut.explain.judge.kept import kept, together
from taut.explain.judge.shares import Shares, share_out
from taut.explain.judge.verdicts import GapVerdicts, Marks, judge, mark, throttled_in
from taut.explain.read.counted import is_whole
from taut.explain.read.events import TraceNotes
from taut.explain.read.facts import Facts, facts_from, recorded_of
from taut.explain.read.gaps import Gaps
from taut.explain.read.names import Names
from taut.explain.read.packets import Tail
from taut.explain.read.recorded import Recorded, Survey, Window
from taut.explain.read.senders import Senders, join_senders
from taut.explain.read.spans import Spans, Stretches, merged, overlaps
from taut.explain.tell.gaps import GapSums, longest_gaps
from taut.explain.tell.offenders import StallSums
from taut.explain.tell.result import Options
from taut.explain.walk.calibrate import Calibration, Lessons
from taut.explain.walk.contexts import Watched
from taut.explain.walk.pollers import most_met, threads_met
from taut.explain.walk.segments import Segments
from taut.explain.walk.timeline import build_timeline
from taut.explain.walk.veto import Vetoed

MARGIN_NS = 100_000
"""Gaps so near to a late packet, or to a gap that it met, are kept: they are drawn beside it."""


@dataclass(frozen=True)
class Trace:
    """What was recorded beside the packets."""

    gaps: Gaps
    recorded: Recorded
    survey: Survey
    notes: TraceNotes
    is_guest: bool | None

    def has(self, core: int) -> bool:
        """Whether events of a core were recorded."""
        cores = self.notes.cores
        return self.recorded.is_there and (cores is None or core in cores)


@dataclass(frozen=True)
class Role:
    """One thread that logged its gaps, and all of these."""

    spans: Spans
    asked: int | None
    is_traced: bool
    vetoed: Vetoed
    among: tuple[int, ...] = ()
    """The threads it can be; empty: any that runs on its core."""


@dataclass(frozen=True)
class _Part:
    """Those of one thread's gaps that lie in a window, and who had its core in them."""

    gaps: slice
    spans: Spans
    segments: Segments


class _Windows:
    """The windows of a trace, walked; the first one only once."""

    def __init__(self, trace: Trace, roles: Sequence[Role]) -> None:
        self.trace, self.roles = trace, roles
        self._busy = _stretches([role.spans for role in roles])
        self.threads = self._find_threads()
        self._first: list[_Part] = []

    def __iter__(self) -> Iterator[tuple[Window, list[_Part]]]:
        for window in self.trace.recorded.windows(self._busy):
            is_first = window.start_ns == BEFORE_ALL
            parts = self._first if is_first else []
            if not parts:
                senders = join_senders(window.events)
                parts = [self._walk(window, senders, i) for i in range(len(self.roles))]
            if is_first:
                self._first = parts
            yield window, parts

    def _find_threads(self) -> list[int | None]:
        met: list[Counter[int]] = [Counter() for _ in self.roles]
        if all(role.asked is not None for role in self.roles):
            return [role.asked for role in self.roles]
        for window in self.trace.recorded.windows(self._busy):
            for role, threads in zip(self.roles, met, strict=True):
                spans = role.spans.take(_inside(role.spans, window))
                at = role.spans.core, spans.start_ns, spans.end_ns
                threads.update(threads_met(window.events, *at, role.among))
        return [
            most_met(threads) if role.asked is None else role.asked
            for role, threads in zip(self.roles, met, strict=True)
        ]

    def _walk(self, window: Window, senders: Senders, number: int) -> _Part:
        role, thread = self.roles[number], self.threads[number]
        gaps = _inside(role.spans, window)
        spans = role.spans.take(gaps)
        watched = Watched(spans.core, -1 if thread is None else thread)
        bounds = spans.start_ns, spans.end_ns
        names = Names(self.trace.notes)
        return _Part(gaps, spans, build_timeline(window.events, watched, bounds, names, senders))


def _stretches(all_spans: Sequence[Spans], margin_ns: int = 0) -> Stretches:
    """Give when any of the gaps was, and so much before and after it."""
    start = np.concatenate([spans.start_ns for spans in all_spans]) - margin_ns
    end = np.concatenate([spans.end_ns for spans in all_spans]) + margin_ns
    order = np.argsort(start, kind="stable")
    return merged(start[order], end[order])


def _inside(spans: Spans, window: Window) -> slice:
    low, high = np.searchsorted(spans.start_ns, [window.start_ns, window.end_ns]).tolist()
    return slice(low, high)


@dataclass(frozen=True)
class Logged:
    """The gaps that were logged, judged: for each thread those that are kept, and sums of all."""

    verdicts: list[GapVerdicts]
    totals: GapSums
    stalls: Mapping[str, StallSums]
    calibration: Calibration


def judge_logged(
    trace: Trace, roles: Sequence[Role], is_guest: bool | None, tail: Tail, options: Options
) -> Logged:
    """Judge the gaps that threads logged; what is kept is what may be told of these packets."""
    windows = _Windows(trace, roles)
    bare = [_facts(windows, i, {}, is_guest) for i in range(len(roles))]
    if any(facts.smi for facts in bare):
        trace.recorded.whole()  # The longest of all empty gaps are the firmware's.
    calibration, facts, throttled_ns = _learn(windows, is_guest)
    told = [_told(role.spans, tail, options) for role in roles]
    totals, stalls = GapSums(), [StallSums() for _ in roles]
    found: list[list[GapVerdicts]] = [[] for _ in roles]
    for window, parts in windows:
        shares = [share_out(part.spans, part.segments, calibration) for part in parts]
        for i, part in enumerate(parts):
            others = [(other, shares[j]) for j, other in enumerate(parts) if j != i]
            marks = mark(part.spans, trace.survey.marks, trace.notes)
            marks = _with_others(marks, part.spans, shares[i], others)
            verdicts = judge(part.spans, part.segments, shares[i], facts[i], marks, throttled_ns[i])
            totals.add(verdicts)
            stalls[i].add(verdicts)
            found[i].append(verdicts if window.is_all else kept(verdicts, told[i][part.gaps]))
    by_thread = {role.spans.thread: sums for role, sums in zip(roles, stalls, strict=True)}
    return Logged([together(parts) for parts in found], totals, by_thread, calibration)


def _learn(windows: _Windows, is_guest: bool | None) -> tuple[Calibration, list[Facts], list[int]]:
    """Learn what holds for all gaps: costs, facts of each thread, how long it was throttled."""
    roles, trace = windows.roles, windows.trace
    lessons, throttled_ns = Lessons(), [0] * len(roles)
    recorded: list[Counter[str]] = [Counter() for _ in roles]
    may_count = is_whole(trace.survey.marks)
    for role in roles:
        lessons.watch(role.spans)
    for window, parts in windows:
        for i, part in enumerate(parts):
            lessons.add(part.spans, part.segments)
            throttled_ns[i] += throttled_in(part.segments)
            if may_count:
                core, thread = part.spans.core, windows.threads[i]
                recorded[i].update(recorded_of(window.own, core, thread, trace.notes))
    facts = [_facts(windows, i, recorded[i], is_guest) for i in range(len(roles))]
    return lessons.learnt(), facts, throttled_ns


def _facts(
    windows: _Windows, number: int, recorded: Mapping[str, int], is_guest: bool | None
) -> Facts:
    role, thread = windows.roles[number], windows.threads[number]
    notes = windows.trace.notes
    return facts_from(recorded, notes, role.spans.core, thread, is_guest, role.is_traced)


def _told(spans: Spans, tail: Tail, options: Options) -> Mask:
    """Mark the gaps that may be told one by one: near late packets, or among the longest."""
    if options.every_gap:
        return np.ones(len(spans), bool)
    # A packet may also have waited in the generator's ring since before it was looked for in vain.
    late = tail.is_late
    arrived = tail.received_ns[late] - tail.arrival_window_ns[late]
    start, end = np.minimum(tail.sent_ns[late], arrived), tail.received_ns[late]
    order = np.argsort(start, kind="stable")
    around = merged(start[order] - MARGIN_NS, end[order] + MARGIN_NS)
    met = overlaps(spans.start_ns, spans.end_ns, *around)
    beside = _stretches([spans.take(met)], MARGIN_NS)
    told = met | overlaps(spans.start_ns, spans.end_ns, *beside)
    told[longest_gaps(spans, options.n_worst)] = True
    return told


def _with_others(
    marks: Marks, spans: Spans, shares: Shares, others: Sequence[tuple[_Part, Shares]]
) -> Marks:
    """Mark gaps without events during which another core's thread has such a gap, too."""
    own = _is_empty(spans, shares)
    elsewhere = np.zeros(len(spans), bool)
    for other, other_shares in others:
        empty = _is_empty(other.spans, other_shares)
        if other.spans.core != spans.core:
            at = other.spans.start_ns[empty], other.spans.end_ns[empty]
            elsewhere |= overlaps(spans.start_ns, spans.end_ns, *at)
    return replace(marks, elsewhere=elsewhere & own)


def _is_empty(spans: Spans, shares: Shares) -> Mask:
    empty = ~spans.is_unseen
    empty[shares.gap] = False
    return empty
