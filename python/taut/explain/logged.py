"""The gaps of the polling threads of a trial, walked and judged window by window of time.

What interrupts cost outside their handlers is learnt from the gaps of all windows, and only then
any can be judged: until then they are aside as they were walked. Of what was judged those gaps stay
that may be told one by one; the others stay as sums.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from taut.explain.arrays import BEFORE_ALL, Mask
from taut.explain.guest import Inside
from taut.explain.judge.kept import kept, together
from taut.explain.judge.shares import Shares, share_out
from taut.explain.judge.told import Told, around_late
from taut.explain.judge.verdicts import GapVerdicts, Marks, judge, mark, throttled_in
from taut.explain.read.ahead import Ahead
from taut.explain.read.clocks import AGREED, Apart
from taut.explain.read.counted import is_whole
from taut.explain.read.events import TraceNotes
from taut.explain.read.facts import Facts, facts_from, recorded_of
from taut.explain.read.gaps import Gaps
from taut.explain.read.names import Names
from taut.explain.read.packets import Tail
from taut.explain.read.recorded import Recorded, Survey, Window
from taut.explain.read.senders import Senders, join_senders
from taut.explain.read.spans import Spans, overlaps
from taut.explain.tell.gaps import GapSums
from taut.explain.tell.offenders import StallSums
from taut.explain.tell.result import Options
from taut.explain.walk.calibrate import Calibration, Lessons
from taut.explain.walk.contexts import Watched
from taut.explain.walk.parts import Part, Parts
from taut.explain.walk.pollers import most_met, threads_met
from taut.explain.walk.stalls import FAULT_NS
from taut.explain.walk.timeline import build_timeline
from taut.explain.walk.veto import Vetoed


@dataclass(frozen=True)
class Trace:
    """What was recorded beside the packets."""

    gaps: Gaps
    recorded: Recorded
    survey: Survey
    notes: TraceNotes
    is_guest: bool | None
    """Whether all of it ran in a virtual machine; None: not known."""
    inside: Inside | None = None
    """What the guest knows of the device, where that alone ran in one."""
    apart: Apart = AGREED

    def has(self, core: int) -> bool:
        """Whether events of a core were recorded."""
        cores = self.notes.cores
        return self.recorded.is_there and (cores is None or core in cores)


@dataclass(frozen=True)
class Role:
    """One thread that logged its gaps."""

    head: Spans
    """Whose gaps they are; there is none in it."""
    read: Callable[[], Iterator[Spans]]
    """Reads them in the order of time."""
    cut: Callable[[Spans], tuple[Spans, Vetoed]]
    """Cuts some of them where packets prove that the thread worked."""
    asked: int | None
    is_traced: bool
    among: tuple[int, ...] = ()
    """The threads it can be; empty: any that runs on its core."""
    inside: Inside | None = None
    """Of a program in a guest, whose thread here is a virtual CPU; None: of any other."""
    makes_calls: bool = False
    """Whether its packets go through system calls."""


class _Seen:
    """What is known of one thread when all of its gaps are walked."""

    def __init__(self, role: Role, told: Told) -> None:
        self.role, self.told, self.thread = role, told, role.asked
        self.met: Counter[int] = Counter()
        self.recorded: Counter[str] = Counter()
        self.throttled_ns = self.n_vetoed = 0

    @property
    def found(self) -> int | None:
        """The thread that was met most often, unless one was asked for."""
        return most_met(self.met) if self.role.asked is None else self.role.asked

    def see(self, window: Window, gaps: Spans) -> Spans:
        """Give the gaps of a window as packets leave them."""
        spans, vetoed = self.role.cut(gaps)
        self.n_vetoed += vetoed.n
        self.told.see(spans)
        if self.role.asked is None:
            at = spans.core, spans.start_ns, spans.end_ns
            self.met.update(threads_met(window.events, *at, self.role.among))
        if window.start_ns == BEFORE_ALL:
            self.thread = self.found
        return spans

    def walk(self, window: Window, senders: Senders, spans: Spans, notes: TraceNotes) -> Part:
        """Walk the gaps of a window."""
        watched = Watched(spans.core, -1 if self.thread is None else self.thread)
        if self.role.inside is not None:
            # In a call of its CPU's thread the guest runs, and after a fault of it.
            watched = replace(watched, calls_are_work=True, fault_most_ns=FAULT_NS)
        bounds = spans.start_ns, spans.end_ns
        segments = build_timeline(window.events, watched, bounds, Names(notes), senders)
        self.throttled_ns += throttled_in(segments)
        return Part(spans, segments)


def _walk(
    trace: Trace, roles: Sequence[Role], told: Callable[[], Told], parts: Parts
) -> tuple[list[_Seen], Calibration]:
    """Walk all windows once: as those threads that the first one shows, or that are asked for."""
    seen, lessons = [_Seen(role, told()) for role in roles], Lessons()
    may_count = is_whole(trace.survey.marks)
    ahead = [Ahead(role.head, role.read()) for role in roles]
    for window in trace.recorded.windows(ahead):
        senders = join_senders(window.events)
        walked = []
        for one, gaps in zip(seen, ahead, strict=True):
            spans = one.see(window, gaps.take(window.end_ns))
            walked.append(one.walk(window, senders, spans, trace.notes))
            lessons.add(spans, walked[-1].segments)
            if may_count:
                found = recorded_of(window.own, spans.core, one.thread, trace.notes)
                one.recorded.update(found)
        parts.append(walked)
    return seen, lessons.learnt()


@dataclass(frozen=True)
class JudgedLogs:
    """The gaps that were logged, judged: for each thread those that are kept, and sums of all."""

    verdicts: list[GapVerdicts]
    n_vetoed: list[int]
    """How many gaps of each thread were cut."""
    totals: GapSums
    stalls: Mapping[str, StallSums]
    calibration: Calibration


def judge_logged(trace: Trace, roles: Sequence[Role], tail: Tail, options: Options) -> JudgedLogs:
    """Judge the gaps that threads logged; what is kept is what may be told of these packets."""
    if any(_facts(trace, role, None, {}).smi for role in roles):
        trace.recorded.as_one()  # The longest of all empty gaps are the firmware's.
    around = around_late(tail)
    with Parts([role.head for role in roles]) as parts:
        seen, calibration = _walk(trace, roles, lambda: Told(around, options.n_worst), parts)
        if all(one.thread == one.found for one in seen):
            return _judge(trace, seen, parts, calibration, options)
    # The first window showed other threads than all windows together.
    known = [replace(one.role, asked=one.found) for one in seen]
    return judge_logged(trace, known, tail, options)


def _judge(
    trace: Trace,
    seen: Sequence[_Seen],
    parts: Parts,
    calibration: Calibration,
    options: Options,
) -> JudgedLogs:
    facts = [_facts(trace, one.role, one.thread, one.recorded) for one in seen]
    totals, stalls = GapSums(), [StallSums() for _ in seen]
    found: list[list[GapVerdicts]] = [[] for _ in seen]
    keeps_all = options.every_gap or len(parts) == 1
    for walked in parts:
        shares = [share_out(part.spans, part.segments, calibration) for part in walked]
        for i, (one, part) in enumerate(zip(seen, walked, strict=True)):
            others = [
                (other, shares[j])
                for j, other in enumerate(walked)
                if j != i and not facts[j].hides_calls
            ]
            marks = mark(part.spans, trace.survey.marks, trace.notes)
            marks = _with_others(marks, part.spans, shares[i], others)
            verdicts = judge(
                part.spans, part.segments, shares[i], facts[i], marks, one.throttled_ns
            )
            if one.role.inside is not None:
                verdicts = one.role.inside.regraded(verdicts)
            totals.add(verdicts)
            stalls[i].add(verdicts)
            found[i].append(verdicts if keeps_all else kept(verdicts, one.told.mark(part.spans)))
    return JudgedLogs(
        [together(one) for one in found],
        [one.n_vetoed for one in seen],
        totals,
        {one.role.head.thread: sums for one, sums in zip(seen, stalls, strict=True)},
        calibration,
    )


def _facts(trace: Trace, role: Role, thread: int | None, recorded: Mapping[str, int]) -> Facts:
    core, is_guest = role.head.core, trace.is_guest
    notes = trace.notes
    facts = facts_from(recorded, notes, core, thread, is_guest, role.is_traced)
    are_recorded = thread in notes.watched and not notes.lacks("raw_syscalls/")
    return replace(facts, hides_calls=role.makes_calls and not are_recorded)


def _with_others(
    marks: Marks, spans: Spans, shares: Shares, others: Sequence[tuple[Part, Shares]]
) -> Marks:
    """Mark gaps without events during which another core's thread has such a gap, too.

    `others`: the threads whose own calls are known, so that such a gap is none of these.
    """
    own = _is_empty(spans, shares)
    elsewhere = np.zeros(len(spans), bool)
    for other, other_shares in others:
        empty = _is_empty(other.spans, other_shares)
        if other.spans.core != spans.core:
            at = other.spans.start_ns[empty], other.spans.end_ns[empty]
            elsewhere |= overlaps(spans.start_ns, spans.end_ns, *at)
    return replace(marks, elsewhere=elsewhere & own)


def _is_empty(spans: Spans, shares: Shares) -> Mask:
    empty = ~(spans.is_unseen | spans.is_lost)
    empty[shares.gap] = False
    return empty
