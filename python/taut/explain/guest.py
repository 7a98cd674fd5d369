"""Whose a stall of a guest's device was: the guest's own, or its host's.

Two traces tell: the host's, in which the virtual CPU is a thread, and the guest's, in which the
device is one. Where the guest gave the CPU to somebody else, or to nobody, the stall is the
guest's, whatever the host made of the idle CPU. Where it did not, and the CPU's thread did not run
on the host, it is the host's: the guest cannot know. Where both ran, neither kernel noted why.

The device's gaps are judged by the host's events, and what those cannot know is taken back here.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from taut.core.units import format_ns
from taut.explain import causes
from taut.explain.arrays import AFTER_ALL, BEFORE_ALL, Ints, Mask, at_or, interval_holding
from taut.explain.causes import NUMBER
from taut.explain.judge.cover import covered_by
from taut.explain.judge.verdicts import D, GapVerdicts
from taut.explain.read.events import Events, read_events, read_notes
from taut.explain.read.spans import (
    Spans,
    Stretches,
    lost_spans,
    merged,
    overlaps,
    skipped_spans,
)
from taut.explain.walk.layers import turns_on
from taut.records import parquet
from taut.records.convert import GUEST as FOLDER_OF_GUEST
from taut.records.documents.trial import Guest, TrialDocument
from taut.records.tables import GAPS

_SHORTEST_NS = 1_000_000
"""Shorter ones are not told: the two clocks are an estimate apart."""
_CLOCK_ERRORS = 10
_MOST_ERROR_NS = 1_000_000
"""Taken where none is stated, as in a chain of guests: with a larger one the trial had failed."""
_IDLE = "nobody"

_OF_GUEST = "the guest's own kernel ran {who} instead"
_OF_HOST = "the virtual CPU did not run on the host, and no event there says why"
_OF_NONE = "the kernels of guest and host both say that it ran"
_NOT_TRACED = "whose it was is not known: guest and host were not both traced then"
_TOO_SHORT = "too short to tell whose it was, by clocks that agree to {error} only"

_OF_THE_THREAD = [NUMBER[causes.SYSCALL], NUMBER[causes.UNKNOWN]]
"""What the host's events make of a virtual CPU that calls the kernel, or sleeps: no cause."""
_OF_ITSELF = [NUMBER[causes.QUEUEING], NUMBER[causes.TRACE_LOST]]
"""Verdicts that no clock of the host's decides."""


@dataclass(frozen=True)
class StallOfGuest:
    """A stall of the device in a guest, and who is to blame."""

    start_ns: int
    end_ns: int
    whose: str
    """One of GUEST, HOST, NOBODY, LOST."""
    who: str
    """Who ran instead, in the kernel that the stall is of."""

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.start_ns


GUEST, HOST, NOBODY, LOST = "guest", "hypervisor", "unknown", "lost"


def stalls_of_guest(trial: Path, document: TrialDocument) -> list[StallOfGuest] | None:
    """Judge the stalls of a trial's guest, longest first; None: not traced on both sides."""
    guest, sides = document.dut.guest, _sides(trial, document)
    if guest is None or sides is None:
        return None
    inside, outside = sides
    notes = (read_notes(trial / FOLDER_OF_GUEST), read_notes(trial))
    names = tuple(one.threads for one in notes)
    stalls = []
    for start_ns, end_ns in _gaps(trial, guest, [one.window_ns for one in notes]):
        in_guest, on_host = inside.during(start_ns, end_ns), outside.during(start_ns, end_ns)
        half = (end_ns - start_ns) // 2
        at = np.array([start_ns]), np.array([end_ns])
        if in_guest.total() >= half:
            whose, who = GUEST, _most(in_guest, names[0])
        elif inside.is_unknown(*at)[0]:
            whose, who = LOST, ""
        elif on_host.total() >= half:
            whose, who = HOST, _most(on_host, names[1])
        else:
            whose, who = LOST if outside.is_unknown(*at)[0] else NOBODY, ""
        stalls.append(StallOfGuest(start_ns, end_ns, whose, who))
    return sorted(stalls, key=lambda stall: stall.length_ns, reverse=True)


def words_of_guest(trial: Path, document: TrialDocument) -> list[str]:
    """Say whose the stalls of a guest were; nothing where the device ran in none."""
    guest = document.dut.guest
    if guest is None:
        return []
    stalls = stalls_of_guest(trial, document) or []
    parts = [_part(whose, [stall for stall in stalls if stall.whose == whose]) for whose in _WORDS]
    said = ", ".join(filter(None, parts))
    told = [f"stalls of 1 ms or more in the guest: {said}"] if said else []
    return [*told, *filter(None, [guest.claim])]


_WORDS = {
    HOST: "the hypervisor's (the virtual CPU did not run on the host",
    GUEST: "the guest's own (its kernel did not run the device",
    NOBODY: "of no known cause (both kernels say that it ran",
    LOST: "not known whose (events were lost or not kept",
}


def _part(whose: str, stalls: Sequence[StallOfGuest]) -> str | None:
    if not stalls:
        return None
    instead = f", when {stalls[0].who} ran" if stalls[0].who else ""
    longest_ms = stalls[0].length_ns / 1e6
    return f"{len(stalls)} {_WORDS[whose]}; the longest {longest_ms:.1f} ms{instead})"


@dataclass(frozen=True)
class _Away:
    """When a thread did not have its core, and who had it; 0: nobody."""

    start_ns: Ints
    end_ns: Ints
    instead: Ints
    unknown: Stretches
    """When events were lost or not kept: who had it then is not known."""
    error_ns: int
    """How far these times may be off those of the device's gaps."""

    def is_unknown(self, start_ns: Ints, end_ns: Ints) -> Mask:
        """Mark the times in part of which it is not known who had it."""
        return overlaps(start_ns, end_ns, *self.unknown)

    def during(self, start_ns: int, end_ns: int) -> Counter[int]:
        """Give for how long each had it within a gap of the device."""
        begun_ns = int(self._seen_from(np.array([start_ns]))[0])
        first = np.searchsorted(self.end_ns, begun_ns, "right")
        last = np.searchsorted(self.start_ns, end_ns, "left")
        found: Counter[int] = Counter()
        for at in range(int(first), int(last)):
            inside = min(int(self.end_ns[at]), end_ns) - max(int(self.start_ns[at]), begun_ns)
            found[int(self.instead[at])] += inside
        return found

    def cover(self, spans: Spans) -> tuple[Ints, Ints]:
        """Give for how long it did not have it in each gap, and whose the longest turn was."""
        none = np.zeros(len(self.start_ns), np.int64)
        turns = Spans("", -1, self.start_ns, self.end_ns, none, none.astype(bool))
        every = np.ones(len(spans), bool)
        covered, turn = covered_by(turns, self._seen_from(spans.start_ns), spans.end_ns, every)
        return covered, at_or(self.instead, turn, 0)

    def _seen_from(self, start_ns: Ints) -> Ints:
        """Give from when on turns count in the gaps that begin then: the device ran at that time.

        A turn that is said to hold it had ended, and the switch back was not recorded.
        """
        before = interval_holding(self.start_ns, self.end_ns, start_ns - self.error_ns)
        return at_or(self.end_ns, before, start_ns)


@dataclass(frozen=True)
class Inside:
    """What is known of the gaps of a device in a guest beside the events of its host."""

    error_ns: int
    """How far the guest's times may be off the host's."""
    sides: tuple[_Away, _Away] | None = None
    """When the guest ran another than the device, and the host another than the virtual CPU; None:
    not both were traced."""
    window_ns: tuple[int, int] | None = None
    """From when to when the guest was traced; None: not known."""
    names: Mapping[int, str] = field(default_factory=dict)
    """Of the guest's threads."""

    def regraded(self, verdicts: GapVerdicts) -> GapVerdicts:
        """Make *unknown* what the host's events cannot know, and say in words what is known.

        They tell who took the virtual CPU's core. Whatever the guest does is for them a thread that
        runs, calls the kernel or sleeps.
        """
        spans, is_traced = verdicts.spans, self._is_traced(verdicts.spans)
        is_known, is_known_outside = (is_traced & ~lost for lost in self._losses(spans))
        half = spans.length_ns // 2
        none = np.zeros(len(spans), np.int64)
        inside, outside = self.sides or (None, None)
        away_ns, who = (none, none) if inside is None else inside.cover(spans)
        off_ns, _ = (none, none) if outside is None else outside.cover(spans)
        is_told = (verdicts.visit >= 0) & ~np.isin(verdicts.cause, _OF_THE_THREAD)
        words = np.select(
            [
                np.isin(verdicts.cause, _OF_ITSELF),
                spans.length_ns < _CLOCK_ERRORS * self.error_ns,
                is_traced & (away_ns >= half),
                is_told | spans.is_skipped,
                ~is_known | spans.is_unseen,
                off_ns >= half,
                ~is_known_outside,
            ],
            ["", _TOO_SHORT, _OF_GUEST, "", _NOT_TRACED, _OF_HOST, _NOT_TRACED],
            _OF_NONE,
        )
        gaps, error = np.flatnonzero(words != ""), format_ns(self.error_ns)
        said = [
            str(words[gap]).format(error=error, who=_called(int(who[gap]), self.names))
            for gap in gaps
        ]
        return _unknown(verdicts, gaps, said)

    def _is_traced(self, spans: Spans) -> Mask:
        first_ns, last_ns = self.window_ns or (BEFORE_ALL, AFTER_ALL)
        whole: Mask = (spans.start_ns >= first_ns) & (spans.end_ns <= last_ns)
        return whole & (self.sides is not None)

    def _losses(self, spans: Spans) -> tuple[Mask, Mask]:
        """Mark the gaps in part of which it is not known what the guest ran, and what the host."""
        if self.sides is None:
            return np.zeros(len(spans), bool), np.zeros(len(spans), bool)
        inside, outside = (side.is_unknown(spans.start_ns, spans.end_ns) for side in self.sides)
        return inside, outside


def inside_of(trial: Path, document: TrialDocument) -> Inside | None:
    """Read what a trial's guest says of its device's gaps; None: the device ran in none."""
    guest = document.dut.guest
    if guest is None:
        return None
    notes = read_notes(trial / FOLDER_OF_GUEST)
    return Inside(
        _error_ns(guest),
        _sides(trial, document),
        notes.window_ns,
        notes.threads,
    )


def _unknown(verdicts: GapVerdicts, gaps: Ints, words: Sequence[str]) -> GapVerdicts:
    """Make verdicts *unknown*; the words become the details of a visit, as those of an event."""
    old, n = verdicts.segments, len(gaps)
    number = {word: i for i, word in enumerate(dict.fromkeys(words), len(old.details))}
    segments = replace(
        old,
        visit_span=np.append(old.visit_span, gaps),
        visit_cause=np.append(old.visit_cause, np.full(n, NUMBER[causes.UNKNOWN])),
        visit_class=np.append(old.visit_class, np.zeros(n, np.int64)),
        visit_detail=np.append(old.visit_detail, np.array([number[word] for word in words], int)),
        visit_by=np.append(old.visit_by, np.full(n, -1)),
        visit_joined=np.append(old.visit_joined, np.zeros(n, bool)),
        details=(*old.details, *number),
    )
    cause, grade, visit = verdicts.cause.copy(), verdicts.grade.copy(), verdicts.visit.copy()
    is_combined = verdicts.is_combined.copy()
    cause[gaps], grade[gaps], is_combined[gaps] = NUMBER[causes.UNKNOWN], D, False
    visit[gaps] = len(old.visit_span) + np.arange(n)
    return replace(
        verdicts,
        segments=segments,
        cause=cause,
        grade=grade,
        visit=visit,
        is_combined=is_combined,
    )


def _sides(trial: Path, document: TrialDocument) -> tuple[_Away, _Away] | None:
    """Say when the guest did not run the device, nor the host the guest; None: not both known."""
    guest, cores = document.dut.guest, document.cores
    if guest is None or guest.program is None or cores is None or cores.device is None:
        return None
    host, own = read_events(trial), read_events(trial / FOLDER_OF_GUEST)
    if host is None or own is None:
        return None
    error_ns = _error_ns(guest)
    inside = _away(own, guest.cpu, guest.program, error_ns)
    return inside, _away(host, cores.device, guest.cpu_thread, error_ns)


def _error_ns(guest: Guest) -> int:
    return _MOST_ERROR_NS if guest.clock is None else guest.clock.error_ns


def _away(events: Events, cpu: int, thread: int, error_ns: int) -> _Away:
    """Give when another thread, or none, had a core, from the events there."""
    turns, who = turns_on(events, cpu)
    # A core without a switch tells of nobody else.
    others = (who != thread) & (len(who) > 1)
    unknown = _unknown_on(events, cpu)
    begins, ends = turns.start_ns, np.append(turns.start_ns, AFTER_ALL)[1:]
    next_unknown = np.append(unknown[0], AFTER_ALL)[np.searchsorted(unknown[0], begins)]
    ends = np.minimum(ends, next_unknown)
    return _Away(begins[others], ends[others], who[others], unknown, error_ns)


def _unknown_on(events: Events, cpu: int) -> Stretches:
    """Give when events of a core were lost or not kept."""
    parts = lost_spans(events, cpu), skipped_spans(events)
    start, end = (np.concatenate(times) for times in zip(*parts, strict=True))
    order = np.argsort(start, kind="stable")
    return merged(start[order], end[order])


def _gaps(
    trial: Path, guest: Guest, traced: Sequence[tuple[int, int] | None]
) -> list[tuple[int, int]]:
    """Give the device's gaps that are long enough, while both kernels were traced."""
    error_ns = 0 if guest.clock is None else guest.clock.error_ns
    shortest_ns = max(_SHORTEST_NS, _CLOCK_ERRORS * error_ns)
    table = parquet.read_table(trial / GAPS, filters=[("thread", "!=", "generator")])
    start, end = (table[name].to_numpy() for name in ("start_ns", "end_ns"))
    long = end - start >= shortest_ns
    for window in traced:
        if window is not None:
            long &= (start >= window[0]) & (end <= window[1])
    return list(zip(start[long].tolist(), end[long].tolist(), strict=True))


def _most(times: Counter[int], names: Mapping[int, str]) -> str:
    thread, _ = times.most_common(1)[0]
    return _called(thread, names)


def _called(thread: int, names: Mapping[int, str]) -> str:
    if thread == 0:
        return _IDLE
    known = names.get(thread)
    return f'"{known}"' if known else f"thread {thread}"
