"""The verdict of each gap, by precedence, with a grade.

Lost events first: where the record has a hole nothing can be excluded; where events were not kept,
nothing is known.  Then the cause that owns most of the gap, its usual cost of entry and exit
included.  Then the thread's own packets.  What is left was stolen without an event; its cause is
found by exclusion.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from taut.explain import causes
from taut.explain.arrays import Ints, Mask, Numbers, at_or
from taut.explain.cause import Cause, Evidence
from taut.explain.causes import BY_ID, CAUSES, NUMBER
from taut.explain.judge.shares import Shares
from taut.explain.read.events import Events, TraceNotes
from taut.explain.read.facts import Facts
from taut.explain.read.spans import Spans
from taut.explain.walk.segments import N_CAUSES, Segments

A, B, C, D = range(4)
LETTERS = "ABCD"

NOT_KEPT = "its events were not kept (--trace tail)"
NOT_RECORDED = "the packets between the slow ones, which might speak against it"
_ONE_IN = 10
"""A control group's throttled time agrees if it is off by at most 1 / _ONE_IN of itself."""
_GAPS_A_CALL = 2
"""With more unexplained gaps than this for each system management interrupt, something besides
firmware takes time."""


@dataclass(frozen=True)
class GapVerdicts:
    """One value for each gap of a thread."""

    spans: Spans
    segments: Segments
    shares: Shares
    facts: Facts
    cause: Ints
    grade: Ints
    visit: Ints  # the longest visit of the cause, -1: none
    is_combined: Mask  # several causes together, none of them half the gap

    @property
    def detail(self) -> Numbers:
        """By gap the position in `segments.details` of its longest visit's; 0: it has none.

        Worked out for all gaps, each time that it is asked for.
        """
        return at_or(self.segments.visit_detail, self.visit, 0)


@dataclass(frozen=True)
class _Weights:
    """What each row of the shares could account for at most, and the row that accounts for most."""

    residual: Ints
    explained: Ints
    top: Ints  # row, -1: the gap holds no event
    top_weight: Ints
    work: Ints


def judge(
    spans: Spans,
    segments: Segments,
    shares: Shares,
    facts: Facts,
    marks: "Marks",
    throttled_ns: int | None = None,
) -> GapVerdicts:
    """Give every gap its verdict.

    `throttled_ns`: for how long their thread was throttled, where these are not all of its gaps.
    """
    if throttled_ns is None:
        throttled_ns = throttled_in(segments)
    n = len(spans)
    weights = _weigh(spans, shares)
    half = (spans.length_ns + 1) // 2
    busy = weights.work >= np.maximum(weights.residual, half)
    is_one = (weights.top >= 0) & (weights.top_weight >= np.maximum(weights.residual, half))
    is_many = weights.explained >= np.maximum(weights.residual, half)
    is_combined = is_many & ~is_one & ~busy & (weights.top >= 0)
    seen = is_one | is_combined
    broken = spans.is_skipped | spans.is_lost

    cause, grade = _excluded(spans, ~busy & ~seen & ~broken, facts, marks)
    cause[busy], grade[busy] = NUMBER[causes.QUEUEING], B
    row = weights.top[seen]
    cause[seen] = shares.cause[row]
    visit = np.full(n, -1, np.int64)
    visit[seen] = shares.visit[row]
    of_seen = _grades(segments, shares, facts, row, throttled_ns)
    grade[seen] = np.where(is_combined[seen], np.maximum(of_seen, C), of_seen)

    cause[spans.is_skipped] = NUMBER[causes.UNKNOWN]
    cause[spans.is_lost] = NUMBER[causes.TRACE_LOST]
    grade[broken], visit[broken] = D, -1
    if facts.is_partial:
        grade[:] = D
    return GapVerdicts(spans, segments, shares, facts, cause, grade, visit, is_combined & ~broken)


def doubted(verdicts: GapVerdicts, took_ns: Ints, usual_ns: int | None) -> GapVerdicts:
    """Lower the grade of wake-ups that took far longer than usual (None: unknown).

    In a guest the hypervisor may have had the core, on bare metal the firmware, unless its counter
    stood still.
    """
    facts = verdicts.facts
    if usual_ns is None or (facts.is_guest is False and facts.smi == 0):
        return verdicts
    least = D if facts.is_guest is False and facts.smi is None else C
    is_long = (verdicts.cause == NUMBER[causes.IDLE_EXIT]) & (took_ns > usual_ns)
    grade = np.where(is_long, np.maximum(verdicts.grade, least), verdicts.grade)
    return replace(verdicts, grade=grade)


def _weigh(spans: Spans, shares: Shares) -> _Weights:
    n = len(spans)
    weight = shares.net_ns + shares.limit_ns
    explained = np.zeros(n, np.int64)
    np.add.at(explained, shares.gap, weight)
    work = np.minimum(shares.work_ns, spans.length_ns - explained)
    top = np.full(n, -1, np.int64)
    # The usual cost of the model decides between causes, its possible cost between causes and the
    # residual.
    order = np.argsort(shares.net_ns + shares.model_ns, kind="stable")
    top[shares.gap[order]] = order  # the last one written is the heaviest
    top_weight = np.zeros(n, np.int64)
    held = top >= 0
    top_weight[held] = weight[top[held]]
    return _Weights(spans.length_ns - explained - work, explained, top, top_weight, work)


def _grades(segments: Segments, shares: Shares, facts: Facts, row: Ints, throttled_ns: int) -> Ints:
    """A where the sender is proved or a counter agrees in number with the events, else B."""
    agrees = np.zeros(N_CAUSES, bool)
    for name in facts.agreeing:
        agrees[NUMBER[BY_ID[name]]] = True
    can_join = np.array([cause.has_sender for cause in CAUSES])
    cause = shares.cause[row]
    is_sure = agrees[cause] | (can_join[cause] & segments.visit_joined[shares.visit[row]])
    is_throttled = cause == NUMBER[causes.THROTTLED]
    return np.where(is_throttled, _throttled(throttled_ns, facts), np.where(is_sure, A, B))


def throttled_in(segments: Segments) -> int:
    """Give the ns for which a thread was throttled."""
    return int(segments.length_ns[segments.cause == NUMBER[causes.THROTTLED]].sum())


def _throttled(found_ns: int, facts: Facts) -> int:
    """Grade a verdict of throttling: a guess, unless the control group's own counter agrees.

    No event says that a quota was used up. The counter is too long where other threads of the group
    were throttled as well.
    """
    if any(_ONE_IN * abs(ns - found_ns) <= found_ns for ns in facts.throttled_ns):
        return A
    return B if any(ns > found_ns for ns in facts.throttled_ns) else D


_TOLD_WITHIN_NS = 50_000
"""A change of frequency is told when it is over, after the time for which the core stood still."""


@dataclass(frozen=True)
class Marks:
    """Events without a duration, as one mark for each gap that one tells of."""

    machine_check: Mask
    frequency: Mask
    elsewhere: Mask  # another core's thread has an empty gap at the same time
    unseen: Mask  # the trace did not cover all of the gap: an absent event proves nothing


def mark(spans: Spans, events: Events, notes: TraceNotes) -> Marks:
    """Find events without a duration inside the gaps, and changes of frequency right behind one."""

    def of(kind: str) -> Ints:
        times: Ints = events.time_ns[events.of(kind) & (events.cpu == spans.core)]
        return times

    def holds(t: Ints) -> Mask:
        return np.searchsorted(t, spans.end_ns, "right") > np.searchsorted(t, spans.start_ns)

    changes = of("frequency")
    frequency = holds(changes)
    before = np.searchsorted(spans.end_ns, changes) - 1
    before, changes = before[before >= 0], changes[before >= 0]
    frequency[before[changes - spans.end_ns[before] <= _TOLD_WITHIN_NS]] = True

    nowhere = np.zeros(len(spans), bool)
    first_ns, last_ns = _window(events, notes)
    unseen = (spans.start_ns < first_ns) | (spans.end_ns > last_ns) | spans.is_skipped
    return Marks(holds(of("machine_check")), frequency, nowhere, unseen)


def _window(events: Events, notes: TraceNotes) -> tuple[int, int]:
    """From when to when events were recorded."""
    if notes.window_ns is not None:
        return notes.window_ns
    times = events.time_ns
    return (int(times[0]), int(times[-1])) if len(times) else (0, -1)


def _excluded(spans: Spans, left: Mask, facts: Facts, marks: Marks) -> tuple[Ints, Ints]:
    """Give cause and grade of the gaps that hold no event to blame (`left`)."""
    n = len(spans)
    if not facts.is_traced or facts.lacks:
        return np.full(n, NUMBER[causes.UNKNOWN]), np.full(n, D)
    cause = np.full(n, NUMBER[causes.HYPERVISOR_OR_HARDWARE])
    grade = np.full(n, D if facts.hides_calls else C)
    cause[marks.frequency], grade[marks.frequency] = NUMBER[causes.FREQUENCY], D
    firmware = _firmware(spans, left & ~marks.machine_check & ~marks.unseen, facts, marks)
    cause[firmware] = NUMBER[causes.SMI]
    is_counted = bool(facts.smi) and not facts.hides_calls
    grade[firmware] = np.where(marks.elsewhere[firmware] & is_counted, C, D)
    cause[marks.machine_check], grade[marks.machine_check] = NUMBER[causes.MACHINE_CHECK], B
    cause[marks.unseen], grade[marks.unseen] = NUMBER[causes.UNKNOWN], D
    return cause, grade


def _firmware(spans: Spans, left: Mask, facts: Facts, marks: Marks) -> Ints:
    """Give the gaps that firmware may have made: at most as many as its counter moved by.

    Gaps that several cores have at once come first, because firmware stops all cores (in a guest
    the hypervisor may do the same), then the longest.
    """
    if facts.smi is None:
        return np.flatnonzero(left & marks.elsewhere & (facts.is_guest is False))
    is_few = np.count_nonzero(left) <= _GAPS_A_CALL * facts.smi
    at = np.flatnonzero(left & (marks.elsewhere | is_few))
    best = np.lexsort((-spans.length_ns[at], ~marks.elsewhere[at]))
    return at[best[: max(facts.smi, 0)]]


def missing_words(verdicts: GapVerdicts, gap: int) -> list[str]:
    """What the verdict of a gap lacks to be certain, in words."""
    cause, facts = CAUSES[int(verdicts.cause[gap])], verdicts.facts
    says_nothing = cause in (causes.UNKNOWN, causes.TRACE_LOST)
    words = [NOT_RECORDED] if facts.is_partial and not says_nothing else []
    if cause.has_sender and not _is_joined(verdicts, gap):
        words.append("who sent it: no event proves it")
    is_sure = int(verdicts.grade[gap]) == A or cause.id in facts.agreeing
    if cause.counter and cause.evidence is Evidence.EVENT and not is_sure:
        words.append(f"a counter that agrees in number ({_counter_words(cause, facts)})")
    if cause is causes.UNKNOWN and int(verdicts.visit[gap]) < 0:
        words += _missing_events(facts, was_skipped=verdicts.spans.was_skipped(gap))
    if facts.hides_calls and cause in (causes.HYPERVISOR_OR_HARDWARE, causes.SMI):
        words.append("its own system calls and page faults: they were not recorded")
    if cause is causes.HYPERVISOR_OR_HARDWARE:
        words.append("a trace of the host" if facts.is_guest is not False else "what firmware did")
    if cause is causes.SMI:
        words.append("when the firmware was called: its counter says at most how often")
    words += _missing_counters(cause, facts, is_seen=int(verdicts.grade[gap]) <= B)
    if cause is causes.TRACE_LOST:
        words.append("the events that were lost")
    if bool(verdicts.is_combined[gap]):
        words.append("one cause that is half of the gap: several came together")
    return words


def _missing_events(facts: Facts, *, was_skipped: bool) -> Iterator[str]:
    if not facts.is_traced:
        yield "kernel events: none were recorded on this core"
    elif was_skipped:
        yield NOT_KEPT
    elif not facts.lacks:
        yield "kernel events: the trace did not run all of that time"
    yield from (f"the kernel's {event}" for event in facts.lacks)


def _missing_counters(cause: Cause, facts: Facts, *, is_seen: bool) -> Iterator[str]:
    is_excluded = cause in (causes.HYPERVISOR_OR_HARDWARE, causes.SMI)
    if cause is causes.SOFTIRQS_OFF or (cause is causes.IDLE_EXIT and not is_seen):
        is_excluded = facts.is_guest is False
    if is_excluded and facts.smi is None:
        yield "the counter of system management interrupts"
    if cause is causes.HYPERVISOR_OR_HARDWARE and facts.steal is None:
        yield "the counter of stolen time"


def _counter_words(cause: Cause, facts: Facts) -> str:
    name = cause.counter.replace(":", " ")
    found = facts.counted.get(cause.id)
    return f"{name}: {found.counted} counted, {found.recorded} recorded" if found else name


def _is_joined(verdicts: GapVerdicts, gap: int) -> bool:
    visit = int(verdicts.visit[gap])
    return visit >= 0 and bool(verdicts.segments.visit_joined[visit])
