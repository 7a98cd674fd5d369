"""What explain made of disturbances whose cause is known: every act and verdict accounted for.

An act is what taut inject sent. It belongs to the gap in which its own evidence is found, else to
the one that shares most time with it. The cause that was sent is then the gap's verdict, or has a
share beside a larger one, or is missed.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from taut.explain import causes
from taut.explain.arrays import Ints
from taut.explain.cause import Away, Cause
from taut.explain.causes import CAUSES, NUMBER
from taut.explain.judge.verdicts import GapVerdicts
from taut.explain.tell.gaps import shares_of
from taut.records.documents.self_test import ConfusionDocument, Miss
from taut.self_test.acts import (
    AFTER_NS,
    Acts,
    Held,
    gap_of,
    gaps_at,
    held_of,
    inside,
    is_found,
)

MOST_MISSES = 50
"""The most misses that are listed one by one."""

_WITH_SENDER = frozenset(cause.id for cause in CAUSES if cause.has_sender)
_OFF_CORE = frozenset(NUMBER[cause] for cause in CAUSES if cause.away in (Away.OTHER, Away.HALTED))


@dataclass(frozen=True)
class Confusion:
    """One cause, injected: what became of its acts, and where its verdicts came from."""

    cause: str
    n_acts: int
    n_unfelt: int  # no gap at them, or one of less than twice the threshold
    n_right: int
    beside: Mapping[str, int]  # acts found beside a larger cause in their gap, by that cause
    why_missed: Mapping[str, int]
    misses: tuple[Miss, ...]
    n_said: int  # gaps with this verdict, whether an act was there or not
    n_at_act: int
    n_injectors: int  # of these, at no noted act, but the kernel names the injector
    n_others: int  # of these, at no act, and the kernel names somebody else
    n_unexplained: int
    others: Mapping[str, int] = field(default_factory=dict)
    n_held: int = 0  # acts whose gap holds the cause, whoever made it
    n_sender_named: int = 0  # of those, acts whose sender is named
    n_sender_right: int = 0
    n_off_core: int = 0  # acts beside `n_acts` that took the core from another thread
    seconds: float = 0.0  # from the first act to the last
    notes: tuple[str, ...] = ()

    @property
    def n_felt(self) -> int:
        """Acts with a gap that counts."""
        return self.n_acts - self.n_unfelt

    @property
    def n_beside(self) -> int:
        """Acts with a share in a gap of which another cause had more."""
        return sum(self.beside.values())

    @property
    def n_made(self) -> int:
        """Gaps with the verdict at an act, or with an event of the injector."""
        return self.n_at_act + self.n_injectors

    @property
    def recall(self) -> float | None:
        """Of the acts that were felt, the share that got the verdict."""
        return _share(self.n_right, self.n_felt)

    @property
    def found(self) -> float | None:
        """Of the acts that were felt, the share that is in its gap's shares."""
        return _share(self.n_right + self.n_beside, self.n_felt)

    @property
    def precision_raw(self) -> float | None:
        """Of the gaps with the verdict, the share that the injector made."""
        return _share(self.n_made, self.n_said)

    @property
    def precision(self) -> float | None:
        """The same, counting as right also gaps of which the kernel names somebody else."""
        return _share(self.n_made + self.n_others, self.n_said)

    @property
    def sender(self) -> float | None:
        """Of the acts whose cause is in the gap, the share whose sender is named, and injects."""
        if self.cause not in _WITH_SENDER:
            return None
        return _share(self.n_sender_right, self.n_held)

    def precision_less(self, n_natural: float) -> float | None:
        """The raw precision without gaps that the machine makes by itself in the same time."""
        return _share(self.n_made, max(self.n_said - n_natural, self.n_made))


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def merge(one: Confusion, other: Confusion) -> Confusion:
    """Add up two rounds of one cause."""

    def counts(name: str) -> dict[str, int]:
        total = Counter(getattr(one, name))
        total.update(getattr(other, name))
        return dict(total.most_common())

    numbers = {
        name: getattr(one, name) + getattr(other, name)
        for name in Confusion.__dataclass_fields__
        if name.startswith("n_")
    }
    return replace(
        one,
        **numbers,
        beside=counts("beside"),
        why_missed=counts("why_missed"),
        others=counts("others"),
        misses=(*one.misses, *other.misses)[:MOST_MISSES],
        seconds=one.seconds + other.seconds,
        notes=tuple(dict.fromkeys((*one.notes, *other.notes))),
    )


def confuse(
    cause: Cause,
    acts: Acts,
    verdicts: GapVerdicts,
    least_ns: int,
    window_ns: tuple[int, int] | None = None,
) -> Confusion:
    """Hold the gaps of the poller that was disturbed to the acts that disturbed it.

    Gaps shorter than `least_ns` do not count. What lies outside the window was not traced.
    """
    acts = inside(acts, window_ns)
    held = held_of(verdicts, cause, frozenset(acts.thread.tolist()))
    return confuse_as(cause.id, cause, acts, verdicts, held, least_ns)


def confuse_as(
    name: str, verdict: Cause, acts: Acts, verdicts: GapVerdicts, held: Held, least_ns: int
) -> Confusion:
    """The same where the right verdict has another name than the acts' cause."""
    wanted = NUMBER[verdict]
    gap = np.array([gap_of(acts, i, verdicts, held) for i in range(len(acts))], np.int64)
    length = verdicts.spans.length_ns
    felt = (gap >= 0) & (length[np.maximum(gap, 0)] >= least_ns) if len(length) else gap >= 0
    beside: Counter[str] = Counter()
    missed: list[tuple[int, str]] = []
    n_right = 0
    for act in np.flatnonzero(felt).tolist():
        at = int(gap[act])
        said = int(verdicts.cause[at])
        if said == wanted:
            n_right += 1
        elif is_found(held, at) and held.own_ns[at] >= least_ns and not verdicts.spans.is_lost[at]:
            beside[CAUSES[said].id] += 1
        else:
            missed.append((act, _why_missed(acts, act, at, verdicts, held)))
    named = held.is_ours | held.is_others
    of_acts = gap[felt][(named | held.is_unsaid)[gap[felt]]]
    touched = np.union1d(gap[felt], gaps_at(acts, verdicts))
    ours = Confusion(
        cause=name,
        n_acts=len(acts),
        n_unfelt=int(np.count_nonzero(~felt)),
        n_right=n_right,
        beside=dict(beside.most_common()),
        why_missed=dict(Counter(why for _, why in missed).most_common()),
        misses=tuple(
            _tell(acts, act, int(gap[act]), verdicts, why) for act, why in missed[:MOST_MISSES]
        ),
        n_said=0,
        n_at_act=0,
        n_injectors=0,
        n_others=0,
        n_unexplained=0,
        n_held=len(of_acts),
        n_sender_named=int(np.count_nonzero(named[of_acts])),
        n_sender_right=int(np.count_nonzero(held.is_ours[of_acts])),
    )
    return _with_verdicts(ours, wanted, acts, verdicts, held, touched, least_ns)


def _with_verdicts(
    ours: Confusion,
    wanted: int,
    acts: Acts,
    verdicts: GapVerdicts,
    held: Held,
    touched: Ints,
    least_ns: int,
) -> Confusion:
    """Ask of every gap with the verdict, between the first act and the last, where it came from."""
    if not len(acts):
        return ours
    spans = verdicts.spans
    first_ns, last_ns = int(acts.start_ns[0]), int(acts.end_ns.max())
    during = (spans.end_ns >= first_ns) & (spans.start_ns <= last_ns + AFTER_NS)
    said = np.flatnonzero(during & (spans.length_ns >= least_ns) & (verdicts.cause == wanted))
    at_act = np.isin(said, touched)
    rest = said[~at_act]
    injectors = rest[held.is_ours[rest]]
    others = rest[~held.is_ours[rest] & held.is_others[rest]]
    return replace(
        ours,
        n_said=len(said),
        n_at_act=int(np.count_nonzero(at_act)),
        n_injectors=len(injectors),
        n_others=len(others),
        n_unexplained=len(rest) - len(injectors) - len(others),
        others=dict(Counter(held.who[g] for g in others.tolist()).most_common()),
        seconds=(last_ns - first_ns) / 1e9,
    )


def _why_missed(acts: Acts, act: int, gap: int, verdicts: GapVerdicts, held: Held) -> str:
    """What the gap held instead, in words."""
    segments = verdicts.segments
    if verdicts.spans.is_lost[gap]:
        return "events of the core were lost in the gap"
    if is_found(held, gap):
        return "its own share was shorter than twice the threshold"
    low, high = np.searchsorted(segments.span, [gap, gap + 1])
    if low == high:
        return "the gap held no event at all"
    start, end, own = int(acts.start_ns[act]), int(acts.end_ns[act]), slice(int(low), int(high))
    at = (segments.start_ns[own] <= end) & (start < segments.end_ns[own])
    off = [int(c) for c in segments.cause[own][at] if int(c) in _OFF_CORE]
    if off and held.cause is causes.THROTTLED:
        return f"no event says that a quota was used up; {CAUSES[off[0]].id} had the core"
    if off:
        return f"the thread was off its core at the time: {CAUSES[off[0]].id}"
    if held.is_others[gap]:
        return "the gap held the same cause, of another's making"
    return f"the gap held {CAUSES[int(verdicts.cause[gap])].id} and nothing of the act"


def _tell(acts: Acts, act: int, gap: int, verdicts: GapVerdicts, why: str) -> Miss:
    shares: Counter[str] = Counter()
    for share in shares_of(verdicts, gap):
        shares[share.label] += share.ns
    return Miss(
        at_ns=int(acts.start_ns[act]),
        act_ns=int(acts.end_ns[act] - acts.start_ns[act]),
        gap_ns=int(verdicts.spans.length_ns[gap]),
        why=why,
        verdict=CAUSES[int(verdicts.cause[gap])].id,
        shares=dict(shares),
    )


def as_document(confusion: Confusion, n_natural: float | None) -> ConfusionDocument:
    """Give the form of the self-test's document; `n_natural`: what the control had, same length."""
    return ConfusionDocument(
        cause=confusion.cause,
        seconds=round(confusion.seconds, 1),
        acts=confusion.n_acts,
        off_core=confusion.n_off_core,
        unfelt=confusion.n_unfelt,
        felt=confusion.n_felt,
        right=confusion.n_right,
        beside=confusion.beside,
        missed=sum(confusion.why_missed.values()),
        recall=confusion.recall,
        found=confusion.found,
        why_missed=confusion.why_missed,
        misses=confusion.misses,
        said=confusion.n_said,
        at_an_act=confusion.n_at_act,
        injectors_own=confusion.n_injectors,
        anothers=confusion.n_others,
        anothers_who=confusion.others,
        unexplained=confusion.n_unexplained,
        precision=confusion.precision,
        precision_raw=confusion.precision_raw,
        control=n_natural,
        precision_less_control=None if n_natural is None else confusion.precision_less(n_natural),
        sender_named=confusion.n_sender_named,
        sender_right=confusion.n_sender_right,
        sender=confusion.sender,
        notes=confusion.notes,
    )
