"""The search of RFC 9971 over a function that measures a trial: no program is started here.

The only file that knows the MLRsearch library.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata

from MLRsearch import (
    AbstractMeasurer,
    Config,
    MeasurementResult,
    MultipleLossRatioSearch,
    SearchGoal,
)

from taut.experiment.goals import EXPANSION_COEFFICIENT, PRECEDING_TARGETS, GoalSpec
from taut.records.documents.search import (
    HIGHEST_PASSES,
    LIMITED,
    LOWER_LIMITED,
    LOWEST_FAILS,
    PATH,
    STOPPED,
    Bound,
    Closing,
    Goal,
    GoalFound,
    Irregular,
    Step,
)

METHOD = f"MLRsearch {metadata.version('MLRsearch')} (RFC 9971)"

_TOO_LONG = "takes too long"


@dataclass(frozen=True)
class Counted:
    """What became of the packets of a trial, both directions together, warm-up left out."""

    due: int
    sent: int
    lost: int
    trials: tuple[str, ...] = ()
    is_limited: bool = False
    """Whether the instrument was held up, so that a loss may be its own."""
    is_behind: bool = False
    """Whether it sent more slowly than it should have, all through."""
    own: int = 0
    """Of what is missing, packets that the generator was late with; 0 where it was held up."""

    @property
    def loss_ratio(self) -> float:
        """Lost and unsent over due, as MLRsearch has it."""
        return (self.lost + self.due - self.sent) / self.due if self.due else 0.0

    def is_limited_at(self, allowed: float) -> bool:
        """Whether it may be the instrument's doing that more than a share is missing."""
        return self.is_limited or self.loss_ratio > allowed >= self.loss_ratio - self.own / self.due


Measure = Callable[[int, float], Counted]
"""Measures one trial: its length in ns and the load of each direction in packets per second."""

Watch = Callable[[Sequence[Closing]], None]
"""Is told the bounds when they have changed."""


@dataclass(frozen=True)
class Limits:
    """Between which loads a search looks, and for how long."""

    min_pps: float
    max_pps: float
    limit_s: float
    is_max_carried: bool = False
    """Whether the instrument was found to carry that much with no device between."""


@dataclass(frozen=True)
class Found:
    """What a search found; `stopped` says why it ended early, None: it did not."""

    goals: tuple[GoalFound, ...]
    steps: tuple[Step, ...]
    stopped: str | None


def describe_goal(spec: GoalSpec) -> Goal:
    """Give all attributes of a goal."""
    return Goal(
        name=spec.name,
        loss_ratio=spec.loss_ratio,
        exceed_ratio=spec.exceed,
        relative_width=spec.width,
        initial_trial_duration_ns=spec.shortest_ns,
        final_trial_duration_ns=spec.trial_ns,
        duration_sum_ns=spec.judged_ns,
        preceding_targets=PRECEDING_TARGETS,
        expansion_coefficient=EXPANSION_COEFFICIENT,
        within_ns=spec.within_ns,
    )


def search(
    goals: Sequence[Goal], limits: Limits, measure: Measure, watch: Watch = lambda _: None
) -> Found:
    """Look for the bounds of all goals, which share the trials; the same answers, the same course.

    Whatever `measure` raises ends the search, but for StopSearch, after which the bounds so far are
    given.
    """
    asked = {goal.name: _asked(goal) for goal in goals}
    controller = MultipleLossRatioSearch(
        config=Config(
            # Goals that differ in nothing but their names are one.
            goals=list(dict.fromkeys(asked.values())),
            min_load=limits.min_pps,
            max_load=limits.max_pps,
            search_duration_max=limits.limit_s,
            warmup_duration=None,
        )
    )
    measurer = _Measurer(controller, asked, measure, watch)
    stopped = None
    try:
        controller.search(measurer=measurer, debug=lambda _: None)
    except StopSearch as why:
        stopped = str(why)
    except RuntimeError as error:  # the library's only kind of its own
        is_late = _TOO_LONG in str(error)
        stopped = f"not done after {limits.limit_s:g} s" if is_late else f"MLRsearch: {error}"
    measurer.close_step()
    steps = tuple(measurer.steps)
    return Found(
        tuple(_found(goal, measurer.bounds(goal.name), limits, steps, stopped) for goal in goals),
        steps,
        stopped,
    )


class StopSearch(Exception):
    """No more trials can be measured; the message says why."""


def _asked(goal: Goal) -> SearchGoal:
    return SearchGoal(
        loss_ratio=goal.loss_ratio,
        exceed_ratio=goal.exceed_ratio,
        relative_width=goal.relative_width,
        initial_trial_duration=goal.initial_trial_duration_ns / 1e9,
        final_trial_duration=goal.final_trial_duration_ns / 1e9,
        duration_sum=goal.duration_sum_ns / 1e9,
        preceding_targets=goal.preceding_targets,
        expansion_coefficient=goal.expansion_coefficient,
        fail_fast=False,
    )


@dataclass(frozen=True)
class _Bounds:
    lower: Bound | None
    upper: Bound | None
    conditional_pps: float | None


class _Measurer(AbstractMeasurer):  # type: ignore[misc]  # the library has no types
    """Answers the library, and notes each answer with the bounds it led to."""

    def __init__(
        self,
        controller: MultipleLossRatioSearch,
        asked: Mapping[str, SearchGoal],
        measure: Measure,
        watch: Watch,
    ) -> None:
        self._controller = controller
        self._asked = asked
        self._measure = measure
        self._watch = watch
        self.steps: list[Step] = []

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        """Measure a trial; the library names both arguments."""
        self.close_step()
        duration_ns = round(intended_duration * 1e9)
        counted = self._measure(duration_ns, intended_load)
        self.steps.append(
            Step(
                trials=counted.trials,
                load_pps=intended_load,
                duration_ns=duration_ns,
                due=counted.due,
                sent=counted.sent,
                lost=counted.lost,
                loss_ratio=counted.loss_ratio,
                instrument_limited=counted.is_limited,
                behind=counted.is_behind,
                own=counted.own,
            )
        )
        # No forwarding_count and no duration with overheads: the library works them out.
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            intended_count=counted.due,
            offered_count=counted.sent,
            loss_count=counted.lost,
        )

    def close_step(self) -> None:
        """Add to the last step the bounds it led to: the library counts it after `measure`."""
        if not self.steps or self.steps[-1].bounds:
            return
        bounds = tuple(self._closing(name) for name in self._asked)
        if len(self.steps) == 1 or bounds != self.steps[-2].bounds:
            self._watch(bounds)
        self.steps[-1] = replace(self.steps[-1], bounds=bounds)

    def _closing(self, name: str) -> Closing:
        found = self.bounds(name)
        lower, upper = found.lower, found.upper
        return Closing(
            name,
            None if lower is None else lower.load_pps,
            None if upper is None else upper.load_pps,
        )

    def bounds(self, name: str) -> _Bounds:
        """Give the bounds of a goal as they are now; none before the first trial."""
        if not self.steps:
            return _Bounds(None, None, None)
        target = self._controller.scaling.goal_to_final_target[self._asked[name]]
        found = self._controller.database.get_relevant_bounds(target=target)
        lower, upper = (
            None
            if stat is None
            else Bound(
                float(stat),
                *(
                    round(1e9 * seconds)
                    for of in stat.target_to_stat.values()
                    for seconds in (of.good_long, of.bad_long, of.good_short, of.bad_short)
                ),
            )
            for stat in (found.clo, found.chi)
        )
        if found.clo is None:
            return _Bounds(None, upper, None)
        (stat,) = found.clo.target_to_stat.values()
        return _Bounds(lower, upper, float(found.clo * (1.0 - stat.pessimistic_loss_ratio)))


def _found(
    goal: Goal, bounds: _Bounds, limits: Limits, steps: Sequence[Step], stopped: str | None
) -> GoalFound:
    """Say what a goal's bounds are worth; an upper bound that is the instrument's is left out."""
    lower, upper = bounds.lower, bounds.upper
    irregular: Irregular | None = None
    broken = [] if upper is None else _limited(upper, goal, steps, is_kept=False)
    kept = [] if lower is None else _limited(lower, goal, steps, is_kept=True)
    is_of_path = limits.is_max_carried and all(step.behind for step in broken)
    if broken and is_of_path and not kept:
        irregular = PATH
    elif broken:
        upper, irregular = None, LIMITED
    elif lower is None and upper is not None and upper.load_pps <= limits.min_pps:
        irregular = LOWEST_FAILS
    elif upper is None and lower is not None and lower.load_pps >= limits.max_pps:
        irregular = HIGHEST_PASSES
    elif stopped is not None and not _is_narrow(bounds, goal):
        irregular = STOPPED
    irregular = LOWER_LIMITED if kept else irregular
    return GoalFound(goal.name, lower, upper, bounds.conditional_pps, irregular)


def _limited(bound: Bound, goal: Goal, steps: Sequence[Step], *, is_kept: bool) -> list[Step]:
    """Give the trials that keep a goal at a bound, or break it, maybe by the instrument alone.

    None, where the bound does not rest on them.
    """
    found = [
        step
        for step in steps
        if step.load_pps == bound.load_pps
        and (step.loss_ratio <= goal.loss_ratio) is is_kept
        and step.is_limited_at(goal.loss_ratio)
    ]
    stands = _is_kept_without if is_kept else _is_broken_without
    long_ns = sum(s.duration_ns for s in found if s.duration_ns >= goal.final_trial_duration_ns)
    short_ns = sum(step.duration_ns for step in found) - long_ns
    return [] if stands(bound, goal, long_ns, short_ns) else found


def _is_kept_without(bound: Bound, goal: Goal, long_ns: int, short_ns: int) -> bool:
    """Whether a goal is kept at a load, had so much of what kept it broken it."""
    broken_ns = bound.bad_ns + long_ns + _short_ns(bound, goal, short_ns)
    kept_ns = bound.good_ns - long_ns
    whole_ns = max(kept_ns + broken_ns, goal.duration_sum_ns)
    return whole_ns - kept_ns <= goal.exceed_ratio * whole_ns


def _is_broken_without(bound: Bound, goal: Goal, long_ns: int, short_ns: int) -> bool:
    """Whether a goal is broken at a load, had so much of what broke it kept it."""
    broken_ns = bound.bad_ns - long_ns + _short_ns(bound, goal, -short_ns)
    whole_ns = max(bound.good_ns + long_ns + broken_ns, goal.duration_sum_ns)
    return broken_ns > goal.exceed_ratio * whole_ns


def _short_ns(bound: Bound, goal: Goal, more_ns: int) -> float:
    """Give how much of the shorter trials counts as broken, as RFC 9971 has it."""
    kept_ns, broken_ns = bound.good_short_ns - more_ns, bound.bad_short_ns + more_ns
    return max(0.0, broken_ns - kept_ns * goal.exceed_ratio / (1 - goal.exceed_ratio))


def _is_narrow(bounds: _Bounds, goal: Goal) -> bool:
    if bounds.lower is None or bounds.upper is None:
        return False
    return 1 - bounds.lower.load_pps / bounds.upper.load_pps <= goal.relative_width
