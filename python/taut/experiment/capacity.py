"""A search carried out: the loopback first, then the devices of a load, then latency.

Trials are those of an ordinary run. The devices of a load take turns, one trial each, so that a
machine that drifts favours none. A trial in which the generator was held up is measured again, a
bounded number of times; if none would do, no bound rests on it.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from math import ceil, floor

from taut.core.errors import TrialError
from taut.experiment.bisection import METHOD, Counted, Found, Limits, StopSearch, search
from taut.experiment.kept import Kept, Trials
from taut.experiment.loads import Load, Subject, floor_goal, limits_of, rate_text, to_search
from taut.experiment.model import Spec
from taut.experiment.plan import make_plan
from taut.experiment.runner import Session
from taut.experiment.turns import Turn, at_once, take_turns
from taut.records.documents.generator import (
    INSTRUMENT_LIMIT,
    RATE_TOLERANCE,
    GeneratorResult,
    share_in_time,
    warm_count,
)
from taut.records.documents.search import (
    FLOOR_UNBOUND,
    LOWEST_FAILS,
    Bound,
    Closing,
    Goal,
    GoalFound,
    LatencyAt,
    SearchDocument,
    SearchOfDevice,
    Step,
)
from taut.records.late import count_late, count_void
from taut.records.tables import HISTOGRAM

SHARES = (0.1, 0.5, 0.9)
"""Shares of the bound at which latency is measured after the search."""

_FLOOR_FAILS = "packets are lost or not sent above the lowest load, or at it already"
_NO_UPPER = "no upper bound is the device's alone; floor = false leaves the loopback out"

Say = Callable[[str], None]


def search_capacity(session: Session, spec: Spec) -> SearchDocument:
    """Search every device under every load, and measure latency at shares of what was found."""
    began = time.monotonic()
    loads, goals = to_search(spec)
    searcher = Searcher(Trials(session, spec), spec, session.progress.noted)
    searches = [found for load in loads for found in searcher.search_load(load, goals)]
    return SearchDocument(
        goals=goals,
        searches=tuple(searches),
        method=METHOD,
        took_s=round(time.monotonic() - began, 1),
    )


class Searcher:
    """Searches by the trials of a run."""

    def __init__(self, trials: Trials, spec: Spec, say: Say) -> None:
        self._trials = trials
        self._spec = spec
        self._say = say

    def search_load(self, load: Load, goals: Sequence[Goal]) -> Iterator[SearchOfDevice]:
        """Search the loopbacks, then in turn the devices, up to what those carry."""
        floors = [self.search_floor(subject, floor_goal(goals)) for subject in load.floors]
        yield from floors
        n = len(load.subjects)
        works = [
            partial(self.search_device, one, goals, floors, n_in_turn=n) for one in load.subjects
        ]
        for subject, found in zip(load.subjects, take_turns(works), strict=True):
            yield replace(found, latency=tuple(self._latency(subject, found.found)))

    def search_floor(self, subject: Subject, goal: Goal) -> SearchOfDevice:
        """Search a loopback, coarsely."""
        limits = limits_of(self._spec, subject)
        return describe_search(
            subject, limits, self._search(subject, [goal], limits), is_capped=False
        )

    def search_device(
        self,
        subject: Subject,
        goals: Sequence[Goal],
        floors: Sequence[SearchOfDevice],
        turn: Turn = at_once,
        n_in_turn: int = 1,
    ) -> SearchOfDevice:
        """Search a device, up to what the loopback of its link carries, if that is known.

        Of `n_in_turn` each has its limit of time, so together they may take n times as long.
        """
        limits = limits_of(self._spec, subject)
        limits = replace(limits, limit_s=n_in_turn * limits.limit_s)
        floor = next((one for one in floors if one.link == subject.device.link), None)
        if floor is None:
            return describe_search(
                subject, limits, self._search(subject, goals, limits, turn), is_capped=False
            )
        lower = floor.found[0].lower
        most = 0.0 if lower is None else lower.load_pps
        if most <= limits.min_pps:
            why = floor.stopped or _FLOOR_FAILS
            self._say(f"{subject.words}: the loopback has no bound ({why}); {_NO_UPPER}")
            found = self._search(subject, goals, limits, turn)
            return describe_search(subject, limits, _doubted(found, lower), is_capped=False)
        is_whole = floor.stopped is None
        own = Limits(limits.min_pps, most, limits.limit_s, is_max_carried=is_whole)
        found = self._search(subject, goals, own, turn)
        described = describe_search(subject, own, found, is_capped=most < limits.max_pps)
        return replace(described, is_floor_stopped=not is_whole)

    def _search(
        self, subject: Subject, goals: Sequence[Goal], limits: Limits, turn: Turn = at_once
    ) -> Found:
        found: list[GoalFound] = []
        steps: list[Step] = []
        stopped = None
        # What counts as lost differs by the limit of lateness: those goals cannot share a search.
        for within_ns, group in groupby(sorted(goals, key=_lateness), key=lambda g: g.within_ns):
            asked = list(group)
            repeats = 0 if subject.device.is_floor else self._spec.search.repeats
            measurer = Measurer(self._trials, subject, asked, within_ns, repeats, turn)
            result = search(asked, limits, measurer.measure, self._watch(subject))
            found += result.goals
            steps += result.steps
            stopped = stopped or result.stopped
        if stopped is not None:
            self._say(f"{subject.words}: stopped: {stopped}")
        order = [goal.name for goal in goals]
        found.sort(key=lambda one: order.index(one.goal))
        return Found(tuple(found), tuple(steps), stopped)

    def _watch(self, subject: Subject) -> Callable[[Sequence[Closing]], None]:
        def watch(bounds: Sequence[Closing]) -> None:
            words = [f"{b.goal} {_words(b.lower_pps)} to {_words(b.upper_pps)}" for b in bounds]
            self._say(f"{subject.words}: {', '.join(words)} pkt/s")

        return watch

    def _latency(self, subject: Subject, found: Sequence[GoalFound]) -> Iterator[LatencyAt]:
        """Measure as the experiment file says, at shares of pdr or of the last goal met."""
        met = [one for one in found if one.lower is not None]
        if not met:
            return
        chosen = next((one for one in met if one.goal == "pdr"), met[-1])
        lower_pps = chosen.lower.load_pps if chosen.lower else 0.0
        rates = {rate_text(share * lower_pps): share for share in SHARES}
        devices = (subject.device,)
        traffic = subject.traffic.model_copy(
            update={"frames": (subject.frame,), "rates": tuple(rates), "devices": ("*",)}
        )
        plan = make_plan(self._spec.model_copy(update={"device": devices, "traffic": (traffic,)}))
        names: dict[str, list[str]] = {rate: [] for rate in rates}
        for trial in plan.trials:
            load = traffic.model_copy(update={"rates": (trial.rate,)})
            try:
                kept = self._trials.take(trial.device, load, trial.repetition - 1)
            except TrialError as error:
                self._say(f"{subject.words}: no latency at {trial.rate}: {error}")
                continue
            if not trial.device.is_floor:
                names[trial.rate].append(kept.folder.name)
        for rate, share in rates.items():
            yield LatencyAt(share, chosen.goal, share * lower_pps, tuple(names[rate]))


class Measurer:
    """Answers one search by trials of the run, each asked for once."""

    def __init__(
        self,
        trials: Trials,
        subject: Subject,
        goals: Sequence[Goal],
        within_ns: int | None,
        repeats: int,
        turn: Turn,
    ) -> None:
        """Each trial, a repeated one too, waits for its turn."""
        self._trials = trials
        self._subject = subject
        self._allowed = [goal.loss_ratio for goal in goals]
        self._within_ns = within_ns
        self._repeats = repeats
        self._turn = turn
        self._n_taken: dict[tuple[str, int], int] = {}
        self._given_up: dict[str, frozenset[float]] = {}

    def measure(self, duration_ns: int, load_pps: float) -> Counted:
        """Measure until a trial will do; StopSearch: one failed again and again.

        One in which the generator was held up will not, whether it keeps the goals or breaks them:
        who takes it where it keeps them takes the best of several. If none will do, the first is
        given, and said to be the instrument's. Goals that every attempt at a load spoilt once are
        spoilt there from then on; they alone are no reason to repeat another trial.
        """
        rate = rate_text(load_pps)
        given_up = self._given_up.get(rate, frozenset())
        counted: list[Counted] = []
        spoilt: list[frozenset[float]] = []
        for _ in range(1 + self._repeats):
            nth = self._n_taken.get((rate, duration_ns), 0)
            self._n_taken[rate, duration_ns] = nth + 1
            try:
                load = self._subject.at(rate, duration_ns)
                kept = self._turn(partial(self._trials.take, self._subject.device, load, nth))
            except TrialError as error:
                raise StopSearch(str(error)) from None
            counted.append(count(kept, self._within_ns))
            spoilt.append(frozenset(filter(counted[-1].is_limited_at, self._allowed)))
            if spoilt[-1] <= given_up:
                return replace(counted[-1], trials=_names(counted))
        if self._subject.device.is_floor:
            return replace(counted[0], is_limited=False, own=0)
        # For these goals repeating was of no use here; of the others each trial may still tell.
        self._given_up[rate] = given_up.union(frozenset.intersection(*spoilt))
        is_behind = all(one.is_behind for one in counted)
        return replace(counted[0], trials=_names(counted), is_behind=is_behind)


def count(trial: Kept, within_ns: int | None) -> Counted:
    """Count a trial's packets; those later than `within_ns` as lost.

    Packets that the generator was late with are taken to be as late as the others are. Where it
    fell behind its rate, the trial was one of a lower load: what it sent beyond what would have
    been sent at the rate in that time does not count, nor does that share of what was lost. It did
    not where void packets are all that it may have sent too late: it stood still near the end. What
    the link refused was due and tried in time: that is the link's, not the generator's.
    """
    generator = trial.document.generator or GeneratorResult()
    counters = generator.counters
    due, unsent, lost, void = (
        warm_count(counters, name) for name in ("due", "unsent", "lost", "void")
    )
    sent, in_time = due - unsent, _in_time_of(generator)
    is_limited = not due or void > INSTRUMENT_LIMIT * due
    is_behind = 0 < in_time < 1 - RATE_TOLERANCE - (0 if is_limited else void / due)
    if is_behind:
        wanted = sent + counters.get("abandoned", 0)
        at_rate = min(sent, floor(wanted * in_time))
        lost = ceil(lost * at_rate / sent) if sent else lost
        sent = at_rate
    histogram = trial.folder / HISTOGRAM
    late, matched = 0, sent - lost
    if within_ns is not None and matched:
        on_time = count_late(histogram, within_ns)
        late = ceil(on_time.n_late * matched / on_time.n) if on_time.n else matched
    counted = Counted(due, sent, lost + late, (trial.folder.name,), is_behind=is_behind)
    if is_limited:
        return replace(counted, is_limited=True)
    if void and counted.loss_ratio:
        return replace(counted, own=void - count_void(histogram))
    return counted


def describe_search(
    subject: Subject,
    limits: Limits,
    found: Found,
    *,
    is_capped: bool,
) -> SearchOfDevice:
    """Put what was found of a subject into the form of documents."""
    return SearchOfDevice(
        device=subject.device.name,
        driver=subject.device.driver,
        link=subject.device.link,
        traffic=subject.traffic.name,
        frame=str(subject.frame),
        both=subject.traffic.both,
        is_instrument=subject.device.is_floor,
        min_pps=limits.min_pps,
        max_pps=limits.max_pps,
        is_max_the_instruments=is_capped,
        found=found.goals,
        steps=found.steps,
        stopped=found.stopped,
    )


def _in_time_of(generator: GeneratorResult) -> float:
    """Give the share in time of all packets, those of the warm-up too, as both rates are."""
    due, unsent, given_up = (
        generator.counters.get(name, 0) for name in ("due", "unsent", "abandoned")
    )
    refused = unsent - given_up
    return share_in_time(generator.achieved_pps, generator.offered_pps, due, refused)


def _doubted(found: Found, carried: Bound | None) -> Found:
    """Leave out upper bounds, and blame no device: nobody knows what the instrument carries.

    `carried`: what it does carry, the lowest load; a device that fails there is to blame for it.
    """
    of_floor = {None} if carried else {None, LOWEST_FAILS}
    goals = [replace(goal, upper=None) for goal in found.goals]
    doubted = [
        replace(goal, irregular=FLOOR_UNBOUND) if goal.irregular in of_floor else goal
        for goal in goals
    ]
    return replace(found, goals=tuple(doubted))


def _lateness(goal: Goal) -> int:
    return goal.within_ns or 0


def _words(pps: float | None) -> str:
    return "?" if pps is None else f"{pps:,.0f}"


def _names(counted: Sequence[Counted]) -> tuple[str, ...]:
    return tuple(name for one in counted for name in one.trials)
