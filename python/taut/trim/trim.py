"""The loop: scout, list, measure in turn until something is shown or the budget ends, decide.

    scout      the host as found, once, explained: which causes, so which remedies
    whole      as found and trimmed in turn (A B B A), judged at the looks of looks.py
    parts      if the whole helped: trimmed, and trimmed without one group each, in turn
    decide     decision.py
    confirm    if a group is put back: what is left against the host as found and the whole

The scouting run chose what is tried, so no test uses its figures.
"""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from statistics import fmean

from taut.analysis.paired import factor, hodges_lehmann, interval_words, paired_ratio
from taut.host.check import Profile
from taut.host.state import FOUND, HostState
from taut.records.documents.trim import LESS, MORE, PairedRatio
from taut.records.rundir import TRIMMED
from taut.trim.bench import Bench, Repetition, losses_of
from taut.trim.candidates import NO_CAUSE, Candidate, CauseFound, When, list_candidates
from taut.trim.decision import HARMFUL, KEPT, Decided, Decision, Verdict, decide, verdict_of
from taut.trim.looks import LOOKS, Look, last_look

KEPT_STATE = "kept"


@dataclass(frozen=True)
class Request:
    """What is asked of a trim."""

    profile: Profile | None = Profile.RECOMMENDED
    only: tuple[str, ...] | None = None
    budget_s: float = 600.0
    without: tuple[str, ...] = ()
    """Ids of checks or remedies that must not be tried here."""

    @property
    def trimmed(self) -> HostState:
        """The state with everything in force that is tried."""
        profile = None if self.only is not None else self.profile
        return HostState(TRIMMED, profile, self.only, self.without)


@dataclass(frozen=True)
class Compared:
    """Two states measured in turn: every pair, and what they show."""

    before: str
    after: str
    repetitions: Sequence[Repetition]
    effect: PairedRatio | None
    """The ratio of after to before; None: too few pairs for any claim."""
    with_void: PairedRatio | None = None
    """The same ratio for all packets, void ones included; claims rest on `effect` alone."""

    @property
    def losses(self) -> str | None:
        """Say where the figure is a lost packet, so that nothing may be claimed; None: nowhere."""
        losses = losses_of(self.repetitions, self.before, self.after)
        return None if losses is None else losses.words

    @property
    def verdict(self) -> Verdict:
        """NOT_SHOWN also where too few pairs, or the losses, allow no claim."""
        return Verdict.NOT_SHOWN if self.effect is None else verdict_of(self.effect)

    def notes(self, unusable: str) -> Iterator[str]:
        """Say what a reader of the effect has to know. `unusable`: as of the bench."""
        if self.losses is not None:
            yield f"{self.losses}: what is lost has no latency, so nothing is claimed of these two."
        ratios = [one.log_ratio(self.before, self.after) for one in self.repetitions]
        if self.effect is not None and None in ratios:
            yield (
                f"{ratios.count(None)} of {len(ratios)} pairs of {self.before} and {self.after} do "
                f"not count: {unusable}."
            )


@dataclass
class Trimmed:
    """What a trim found; filled in as it goes: each step rests on those before."""

    causes: Sequence[CauseFound] = ()
    candidates: Sequence[Candidate] = ()
    unusable: str = ""
    """Why pairs do not count, in the bench's words."""
    is_tried: bool = False
    """Whether the states were measured in turn; else nothing was changed."""
    whole: Compared | None = None
    groups: dict[str, Compared] = field(default_factory=dict)
    """By cause: trimmed without its remedies, against trimmed."""
    decided: Sequence[Decided] = ()
    confirmed: Compared | None = None
    """What is kept against the host as found, where less is kept than was tried."""
    notes: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """What all remedies together did."""
        return Verdict.NOT_SHOWN if self.whole is None else self.whole.verdict

    @property
    def kept(self) -> list[str]:
        """Ids of the remedies to keep, in the order they are made."""
        return [d.candidate.remedy for d in self.decided if d.decision in KEPT]


Say = Callable[[str], None]


def scout(bench: Bench, request: Request) -> Trimmed:
    """Measure as found and list what could help; nothing is changed."""
    found = Trimmed(causes=bench.scout())
    plan = bench.plan(request.trimmed)
    found.candidates = [
        candidate
        for candidate in list_candidates(plan, found.causes)
        if not request.trimmed.leaves_out(candidate.check, candidate.remedy)
    ]
    return found


def trim(bench: Bench, request: Request, found: Trimmed, began_s: float, say: Say) -> Trimmed:
    """Continue after the scouting. `began_s`: when the budget began, by time.monotonic()."""
    run = _Run(bench, began_s, request.budget_s, say)
    found.is_tried = True
    found.unusable = bench.unusable
    found.whole = run.compare(FOUND, request.trimmed, LOOKS)
    if found.verdict is Verdict.HELPS:
        found.groups = run.parts(request.trimmed, found)
    ratios = {c: one.effect for c, one in found.groups.items() if one.effect is not None}
    found.decided = decide(found.candidates, found.verdict, ratios)
    if any(d.decision in (Decision.PUT_BACK, *HARMFUL) for d in found.decided):
        _confirm(run, request, found)
    for compared in (found.whole, *found.groups.values(), found.confirmed):
        if compared is not None:
            found.notes += compared.notes(found.unusable)
    return found


def _confirm(run: "_Run", request: Request, found: Trimmed) -> None:
    """Decide whether less than the whole may be kept, and note it in `found`.

    Two groups may do the same work: leaving out either one shows nothing, leaving out both does.
    So less is kept only where the rest was shown to help by itself, and was not shown to be worse
    than the whole; else the whole is kept.
    """
    if found.verdict is not Verdict.HELPS:
        return
    left = HostState(KEPT_STATE, only=tuple(found.kept))
    beside = None
    if found.kept:
        found.confirmed, beside = run.confirm(request.trimmed, left)
    if found.kept and found.confirmed is None:
        why = "was not measured, for the budget ended"
    elif found.confirmed is None or found.confirmed.verdict is not Verdict.HELPS:
        why = "was not shown to help by itself"
    elif beside is not None and beside.verdict is Verdict.HARMS:
        why = "was shown to be worse than all together"
    else:
        return
    found.notes.append(_left_words(why, {d.decision for d in found.decided}))
    found.decided = [
        replace(d, decision=Decision.KEPT_UNCONFIRMED) if d.decision is Decision.PUT_BACK else d
        for d in found.decided
    ]


def _left_words(why: str, decisions: Collection[Decision]) -> str:
    """Say what is kept where what would be left was not confirmed: never what made it worse."""
    if HARMFUL.isdisjoint(decisions):
        return f"What would be left without the remedies that showed nothing {why}: all are kept."
    if Decision.PUT_BACK not in decisions:
        return f"What is left without the remedies that made the figure worse {why}."
    return (
        f"What would be left {why}: the remedies that showed nothing are kept, those that made the "
        "figure worse are put back. That was not measured by itself."
    )


class _Run:
    """Numbers repetitions and watches the budget."""

    def __init__(self, bench: Bench, began_s: float, budget_s: float, say: Say) -> None:
        self._bench = bench
        self._began_s = began_s
        self._budget_s = budget_s
        self._say = say
        self._next = 2  # The scouting run was the first.
        self._seconds: dict[int, list[float]] = {}  # By how many states: of each repetition.

    def compare(
        self, before: HostState, after: HostState, looks: Sequence[Look]
    ) -> Compared | None:
        """Measure two states in turn until a look shows something or the budget ends.

        None: the budget did not reach the first look.
        """
        repetitions: list[Repetition] = []
        for look in looks:
            while len(repetitions) < look.n_pairs and self._has_time(2):
                repetitions += self._measure([before, after])
            if len(repetitions) < look.n_pairs:
                break
            compared = _judged(before, after, repetitions, look.alpha)
            self._say(f"{after.name} beside {before.name}: {words_of(compared)}")
            if compared.verdict is not Verdict.NOT_SHOWN:
                return compared
        final = last_look(len(repetitions))
        return None if final is None else _judged(before, after, repetitions, final.alpha)

    def parts(self, whole: HostState, found: Trimmed) -> dict[str, Compared]:
        """Leave each group out, in turn with the whole; empty where the time is too short."""
        groups = _groups(found.candidates)
        states = [_without(whole, cause, members) for cause, members in groups.items()]
        if len(groups) < 2:
            return {}
        # The error is divided over the groups, so that it bounds all of their claims together.
        alpha = LOOKS[0].alpha / len(groups)
        n_pairs = _least_for(alpha)
        if self._left_s() < self._need_s(n_pairs, 1 + len(states)):
            minutes = self._enough_min(n_pairs, len(states))
            found.notes.append(
                f"The budget ended before {len(states)} groups of remedies could be left out one "
                "by one: what carries the effect is not known, only that all together help. About "
                f"--budget {minutes}m would do."
            )
            return {}
        repetitions: list[Repetition] = []
        for _ in range(n_pairs):
            repetitions += self._measure([whole, *states])
        return {
            cause: _judged(whole, state, repetitions, alpha)
            for cause, state in zip(groups, states, strict=True)
        }

    def confirm(self, whole: HostState, left: HostState) -> tuple[Compared | None, Compared | None]:
        """Measure what is left in turn with the host as found and the whole; compare with each.

        None: the budget did not reach a look.
        """
        look = LOOKS[0]
        if self._left_s() < self._need_s(look.n_pairs, 3):
            return None, None
        repetitions: list[Repetition] = []
        for _ in range(look.n_pairs):
            repetitions += self._measure([FOUND, whole, left])
        found, all_of_it = (
            _judged(before, left, repetitions, look.alpha) for before in (FOUND, whole)
        )
        self._say(f"{left.name} beside {FOUND.name}: {words_of(found)}")
        self._say(f"{left.name} beside {whole.name}: {words_of(all_of_it)}")
        return found, all_of_it

    def _measure(self, states: Sequence[HostState]) -> list[Repetition]:
        began = time.monotonic()
        measured = self._bench.measure(states, range(self._next, self._next + 1))
        self._next += 1
        self._seconds.setdefault(len(states), []).append(time.monotonic() - began)
        return measured

    def _left_s(self) -> float:
        return self._began_s + self._budget_s - time.monotonic()

    def _enough_min(self, n_pairs: int, n_groups: int) -> int:
        """Guess the budget, in minutes, in which groups are left out and what is left confirmed."""
        so_far_s = time.monotonic() - self._began_s
        parts_s = self._need_s(n_pairs, 1 + n_groups)
        confirm_s = self._need_s(LOOKS[0].n_pairs, 3)
        return ceil((so_far_s + parts_s + confirm_s) / 60)

    def _need_s(self, n_repetitions: int, n_states: int) -> float:
        """Guess how long repetitions take: one as the longest so far, the others as the mean.

        A single slow one does not stand for all to come; several may exceed the budget.
        """
        took = self._seconds.get(n_states) or [self._bench.seconds(n_states)]
        return (n_repetitions - 1) * fmean(took) + max(took)

    def _has_time(self, n_states: int) -> bool:
        return self._left_s() >= self._need_s(1, n_states)


def _groups(candidates: Sequence[Candidate]) -> dict[str, list[Candidate]]:
    """Group candidates that take effect now by the cause that asks for them; no cause: last."""
    now = [c for c in candidates if c.when is When.NOW]
    ordered = sorted(now, key=lambda c: (c.cause == NO_CAUSE, -c.share))
    return {
        cause: [c for c in ordered if c.cause == cause]
        for cause in dict.fromkeys(c.cause for c in ordered)
    }


def _without(whole: HostState, cause: str, members: Sequence[Candidate]) -> HostState:
    name = f"without {cause}" if cause else "without the rest"
    return replace(whole, name=name, without=(*whole.without, *(c.remedy for c in members)))


def _judged(
    before: HostState, after: HostState, repetitions: Sequence[Repetition], alpha: float
) -> Compared:
    effects: list[PairedRatio | None] = []
    for with_void in (False, True):
        ratios = [r.log_ratio(before.name, after.name, with_void=with_void) for r in repetitions]
        counted = [ratio for ratio in ratios if ratio is not None]
        try:
            paired = paired_ratio(counted, 1 - alpha)
        except ValueError:
            effects.append(None)  # Trials failed: too few pairs are left.
            continue
        losses = losses_of(repetitions, before.name, after.name, with_void=with_void)
        if losses is not None:
            interval = hodges_lehmann(counted, 1 - alpha)
            by_ranks = LESS if interval.high < 0 else MORE if interval.low > 0 else None
            paired = replace(paired, ratio=None, low=None, high=None, by_ranks=by_ranks)
            paired = replace(paired, losses=losses.words, lost_in=losses.states)
        effects.append(paired)
    return Compared(before.name, after.name, list(repetitions), *effects)


def _least_for(alpha: float) -> int:
    """Give the fewest pairs with which the exact test can reach alpha: 2 / 2^n."""
    return next(n for n in range(1, 64) if 2 / 2**n <= alpha)


def words_of(compared: Compared) -> str:
    """Say what two states measured in turn show."""
    effect = compared.effect
    if effect is None:
        return "too few pairs to say"
    if compared.losses is not None:
        return f"not shown: {compared.losses}"
    numbers = (
        f"{factor(effect.ratio)} times, {100 * effect.confidence:.3g} % interval "
        f"{interval_words(effect.low, effect.high)}, p = {effect.p_value:.2g}, "
        f"{effect.n_pairs} pairs"
    )
    if compared.verdict is Verdict.NOT_SHOWN:
        return f"no effect shown ({numbers})"
    return numbers
