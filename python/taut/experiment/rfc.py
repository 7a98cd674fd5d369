"""A recipe carried out: for every frame size the throughput, then the tests that start from it.

Trials are those of an ordinary run, planned one at a time. One in which the generator was held up
is measured again, a bounded number of times, and counted against no device.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from taut.core.errors import InputError, TrialError
from taut.experiment import restart
from taut.experiment.bisection import METHOD, describe_goal
from taut.experiment.bursts import longest_burst
from taut.experiment.capacity import Searcher
from taut.experiment.goals import GoalSpec
from taut.experiment.held_up import InTurn, Taken, is_on_time, loses_soundly
from taut.experiment.kept import Trials
from taut.experiment.loads import (
    Load,
    Subject,
    floor_goal,
    is_max_given,
    loads_of,
    rate_text,
    refuse_empty_trials,
    refuse_no_medium,
)
from taut.experiment.model import Spec, TrafficSpec
from taut.experiment.plan import OVERHEAD_NS
from taut.experiment.recipes import shortened
from taut.experiment.runner import Session
from taut.records.documents.rfc import (
    BURSTS,
    LATENCY,
    LOSS,
    RECOVERY,
    RESET,
    THROUGHPUT,
    Burst,
    BurstsFound,
    LatencyFound,
    LatencyTrial,
    LossAt,
    Recipe,
    RecoveryFound,
    RecoveryTrial,
    ResetFound,
    ResetTrial,
    RfcDocument,
    RfcOfDevice,
    Test,
)
from taut.records.documents.search import Goal, SearchOfDevice

OVERLOAD, DROP_PERCENT = 1.1, 50
"""RFC 2544 26.5: of the throughput, and of that afterwards."""

FLOOR_TRIAL_NS = 1_000_000_000
"""The loopback's trials need not be longer: a bound of what can be offered, not a result."""

TRIALS_OF_A_SEARCH = 40
"""A search ends where it took longer than so many trials."""

_WIDEST = 0.9
"""Bounds as far apart as a search can be told to leave them: a relative width is below 1."""

_NO_MEDIUM = "nobody knows the most that can be sent: the loopback has no bound; give --max"

_LOSSLESS_IN_A_ROW = 2
"""RFC 2544 26.3: after so many loads nothing was lost at, none lower is tried."""

_Measured = TypeVar("_Measured")


def goal_of(recipe: Recipe) -> Goal:
    """Give RFC 2544's throughput as a goal of RFC 9971: one trial of a load, nothing forgiven."""
    trial = f"{recipe.trial_ns}ns"
    own = {"name": "throughput", "loss": 0.0, "exceed": 0.0, "width": recipe.width}
    return describe_goal(GoalSpec.model_validate({**own, "trial": trial, "sum": trial}))


def floor_goal_of(recipe: Recipe) -> Goal:
    """Give the goal that the loopback is searched for: coarser, and by several short trials."""
    trial_ns = min(recipe.trial_ns, FLOOR_TRIAL_NS)
    width = min(2 * recipe.width, _WIDEST)
    return floor_goal(
        [replace(goal_of(recipe), final_trial_duration_ns=trial_ns, relative_width=width)]
    )


def spec_of(spec: Spec, recipe: Recipe) -> Spec:
    """Make the experiment a recipe's: its frames, its directions, a constant rate.

    InputError: it cannot be.
    """
    if spec.host:
        raise InputError("[[host]]: a recipe measures the host as it is; take it out of the file")
    if len(spec.placement) > 1:
        names = ", ".join(place.name for place in spec.placement)
        raise InputError(f"[[placement]]: a recipe has one place, here are {names}; leave one")
    if len(spec.traffic) != 1:
        names = ", ".join(traffic.name for traffic in spec.traffic)
        raise InputError(f"[[traffic]]: a recipe has one load, here are {names}; leave one of them")
    (traffic,) = spec.traffic
    own = {
        "schedule": "constant",
        "options": {},
        "frames": tuple(int(frame) if frame.isdigit() else frame for frame in recipe.frames),
        "both": recipe.both,
        "warm_up_ns": recipe.warm_up_ns,
        "repetitions": 1,
        "floor": None,
        # A trace costs, and would be of hours.
        "trace": "off" if spec.trace == "auto" else None,
    }
    # Where the file says nothing, long trials need more time than the search's own limit.
    each_ns = recipe.trial_ns + recipe.warm_up_ns + recipe.residue_ns + recipe.settle_ns
    limit_ns = max(spec.search.limit_ns, TRIALS_OF_A_SEARCH * (each_ns + OVERHEAD_NS))
    if "limit_ns" in spec.search.model_fields_set:
        limit_ns = spec.search.limit_ns
    changed = {
        "traffic": (traffic.model_copy(update=own),),
        "deadline_ns": recipe.residue_ns,
        "search": spec.search.model_copy(update={"limit_ns": limit_ns, "repeats": recipe.repeats}),
    }
    made = spec.model_copy(update=changed)
    loads = loads_of(made)
    refuse_no_medium(made, loads)
    refuse_empty_trials(made, loads, [goal_of(recipe), floor_goal_of(recipe)])
    return made


def of_test(subject: Subject, test: Test, rate: str, duration_ns: int) -> TrafficSpec:
    """Give the load of a test; its name is the test's."""
    # What only counts packets records none: they would fill the disk.
    counts_alone = test in {THROUGHPUT, LOSS, BURSTS}
    record = "none" if counts_alone else subject.traffic.record
    return subject.at(rate, duration_ns).model_copy(update={"name": test, "record": record})


def step_load(subject: Subject, recipe: Recipe, rate: str) -> TrafficSpec:
    """Give the load of a recovery: the overload, and half of it from then on."""
    whole_ns = recipe.warm_up_ns + recipe.overload_ns
    options = {"after": f"{whole_ns}ns", "percent": DROP_PERCENT}
    load = of_test(subject, RECOVERY, rate, recipe.overload_ns + recipe.recovery_ns)
    return load.model_copy(update={"schedule": "step", "options": options})


def reset_load(subject: Subject, recipe: Recipe, rate: str) -> TrafficSpec:
    """Give the load under which a device is restarted."""
    at_ns = restart.START_NS + recipe.warm_up_ns + recipe.before_reset_ns
    length_ns = restart.START_NS + recipe.before_reset_ns + recipe.after_reset_ns
    return of_test(subject, RESET, rate, length_ns).model_copy(update={"restart_ns": at_ns})


def burst_load(subject: Subject, rate: str, length: int) -> TrafficSpec:
    """Give a burst: so many frames, at the highest rate, after nothing."""
    own = {"duration_ns": None, "count": length, "warm_up_ns": 0}
    return of_test(subject, BURSTS, rate, 1).model_copy(update=own)


def carry_out(
    session: Session, spec: Spec, recipe: Recipe, sleep: Callable[[float], None] = time.sleep
) -> RfcDocument:
    """Carry a recipe out; `spec` is what spec_of made for it."""
    began = time.monotonic()

    def settle() -> None:
        sleep(recipe.settle_ns / 1e9)

    course = _Course(Trials(session, spec, settle), spec, recipe, session.progress.noted)
    results: list[RfcOfDevice] = []
    instruments: list[SearchOfDevice] = []
    for load in loads_of(spec):
        floors = list(course.search_floors(load))
        instruments += floors
        results += course.measure(load, floors)
    return RfcDocument(
        rfc=recipe.rfc,
        recipe=recipe,
        shortened=tuple(shortened(recipe)),
        goal=goal_of(recipe),
        instruments=tuple(instruments),
        results=tuple(results),
        method=METHOD,
        took_s=round(time.monotonic() - began, 1),
    )


@dataclass(frozen=True)
class _At:
    """What the tests of a device start from."""

    subject: Subject
    throughput_pps: float
    max_pps: float


class _Course:
    """The tests of a recipe, by the trials of a run."""

    def __init__(
        self, trials: Trials, spec: Spec, recipe: Recipe, say: Callable[[str], None]
    ) -> None:
        self._searcher = Searcher(trials, spec, say)
        self._in_turn = InTurn(trials, recipe.repeats)
        self._recipe = recipe
        self._placements = spec.placement
        self._is_max_given = is_max_given(spec)
        self._say = say
        self._ended_by: TrialError | None = None

    def search_floors(self, load: Load) -> Iterator[SearchOfDevice]:
        """Search what the links carry without a device."""
        for subject in load.floors:
            yield self._searcher.search_floor(_searched(subject), floor_goal_of(self._recipe))

    def measure(self, load: Load, floors: Sequence[SearchOfDevice]) -> Iterator[RfcOfDevice]:
        """Run every test on every device."""
        for subject in load.subjects:
            found = self._searcher.search_device(
                _searched(subject), [goal_of(self._recipe)], floors
            )
            row = RfcOfDevice(
                device=subject.device.name,
                driver=subject.device.driver,
                link=subject.device.link,
                frame=str(subject.frame),
                max_pps=found.max_pps,
                is_max_the_instruments=found.is_max_the_instruments,
                is_max_known=self._is_max_given or _is_bounded(subject, found.min_pps, floors),
                throughput=found,
            )
            for test in self._recipe.tests:
                if test != THROUGHPUT:
                    row = self._run(test, row, subject)
            yield row

    def _run(self, test: Test, row: RfcOfDevice, subject: Subject) -> RfcOfDevice:
        """Run a test and add what it found, or why it was not run."""
        why = self._why_not(test, row, subject)
        if why:
            self._say(f"{subject.words}: no {test}: {why}")
            return replace(row, not_run=(*row.not_run, f"{test}: {why}"))
        if why is not None:
            return row
        self._ended_by = None
        try:
            row = self._add(test, row, _At(subject, row.throughput_pps or 0.0, row.max_pps))
        except TrialError as error:
            self._ended_by = error
        if self._ended_by is None:
            return row
        self._say(f"{subject.words}: {test}: {self._ended_by}")
        return replace(row, failed=(*row.failed, f"{test}: {self._ended_by}"))

    def _why_not(self, test: Test, row: RfcOfDevice, subject: Subject) -> str | None:
        """Say why a test is not run; nothing where it is simply not one of this size of frames."""
        if test == RESET and row.frame != smallest_of(self._recipe.frames):
            return ""  # RFC 2544 26.6: the smallest frames alone
        if test == RESET and (why := restart.why_not(subject.device, self._placements)):
            return why
        if test in {LOSS, RECOVERY, BURSTS} and not row.is_max_known:
            return _NO_MEDIUM
        if test == LOSS and row.throughput.steps:
            return None
        if row.throughput_pps is None:
            return "there is no throughput to start from"
        if test in {RECOVERY, BURSTS} and row.throughput_pps >= row.max_pps:
            return (
                "the device carries all that can be sent: nothing overloads it"
                if test == RECOVERY
                else "the device carries all that can be sent: a burst has no end"
            )
        return None

    def _add(self, test: Test, row: RfcOfDevice, at: _At) -> RfcOfDevice:
        if test == LATENCY:
            return replace(row, latency=self._latency(at))
        if test == LOSS:
            return replace(row, loss=tuple(self._until_it_fails(self._loss(at))))
        if test == RECOVERY:
            return replace(row, recovery=self._recovery(at))
        if test == RESET:
            return replace(row, reset=self._reset(at))
        return replace(row, bursts=self._bursts(at))

    def _until_it_fails(self, measured: Iterator[_Measured]) -> list[_Measured]:
        """Take what a test measures; of one that fails in the middle what there is counts.

        TrialError: it failed at once.
        """
        found: list[_Measured] = []
        try:
            for one in measured:
                found.append(one)  # noqa: PERF402 - extend() promises nothing where one fails
        except TrialError as error:
            if not found:
                raise
            self._ended_by = error
        return found

    def _repeated(self, at: _At, load: TrafficSpec, times: int) -> list[tuple[str, bool]]:
        """Take a load's trial so often; give each attempt's folder, and whether it counts not."""
        taken = (self._in_turn.take(at.subject.device, load) for _ in range(times))
        return [
            (kept.folder.name, one.is_limited)
            for each in self._until_it_fails(taken)
            for kept, one in each.attempts
        ]

    def _latency(self, at: _At) -> LatencyFound:
        rate = rate_text(at.throughput_pps)
        load = of_test(at.subject, LATENCY, rate, self._recipe.latency_ns)
        trials = self._repeated(at, load, self._recipe.repetitions)
        return LatencyFound(at.throughput_pps, tuple(LatencyTrial(*one) for one in trials))

    def _loss(self, at: _At) -> Iterator[LossAt]:
        """Go down from the highest load until two loads in a row lose nothing."""
        n_lossless = 0
        is_limited = False
        share, step = 1.0, self._recipe.loss_step
        while share > step / 2 and n_lossless < _LOSSLESS_IN_A_ROW:
            pps = share * at.max_pps
            load = of_test(at.subject, LOSS, rate_text(pps), self._recipe.trial_ns)
            # Where no repetition was of use, it will not be at the next load either.
            taken = self._in_turn.take(at.subject.device, load, loses_soundly, is_once=is_limited)
            found = _loss_at(share, pps, taken)
            is_limited = found.instrument_limited
            n_lossless = n_lossless + 1 if not found.loss_ratio else 0
            yield found
            share = round(share - step, 9)

    def _recovery(self, at: _At) -> RecoveryFound:
        pps = min(OVERLOAD * at.throughput_pps, at.max_pps)
        load = step_load(at.subject, self._recipe, rate_text(pps))
        trials = self._repeated(at, load, self._recipe.recoveries)
        found = tuple(RecoveryTrial(*one) for one in trials)
        return RecoveryFound(pps, pps * DROP_PERCENT / 100, found)

    def _reset(self, at: _At) -> ResetFound:
        load = reset_load(at.subject, self._recipe, rate_text(at.throughput_pps))
        trials = self._repeated(at, load, self._recipe.resets)
        return ResetFound(at.throughput_pps, tuple(ResetTrial(*one) for one in trials))

    def _bursts(self, at: _At) -> BurstsFound:
        rate = rate_text(at.max_pps)

        def send(length: int) -> Burst:
            load = burst_load(at.subject, rate, length)
            taken = self._in_turn.take(at.subject.device, load, is_on_time)
            one = taken.counted
            lost = one.lost + one.due - one.sent
            # A burst that was sent more slowly is none of that rate, whatever came back of it.
            return Burst(length, taken.names, lost, instrument_limited=not taken.is_sound)

        most = max(1, int(at.max_pps * self._recipe.burst_most_ns / 1e9))
        step = self._recipe.burst_step
        searches = (longest_burst(most, step, send) for _ in range(self._recipe.bursts))
        return BurstsFound(at.max_pps, tuple(self._until_it_fails(searches)))


def _is_bounded(subject: Subject, min_pps: float, floors: Sequence[SearchOfDevice]) -> bool:
    """Whether the loopback of a device's link carries more than the lowest load."""
    carried = (one.found[0].lower for one in floors if one.link == subject.device.link)
    return any(lower is not None and lower.load_pps > min_pps for lower in carried)


def _searched(subject: Subject) -> Subject:
    """Give a subject whose trials are those of the throughput test."""
    own = {"name": THROUGHPUT, "record": "none"}
    return replace(subject, traffic=subject.traffic.model_copy(update=own))


def smallest_of(frames: Sequence[str]) -> str:
    """Name the shortest frames: RFC 2544 26.6 resets under those alone."""
    return min(frames, key=lambda frame: int(frame) if frame.isdigit() else 1 << 16)


def _loss_at(share: float, pps: float, taken: Taken) -> LossAt:
    one = taken.counted
    return LossAt(
        share=share,
        load_pps=pps,
        trials=taken.names,
        due=one.due,
        sent=one.sent,
        lost=one.lost,
        loss_ratio=one.loss_ratio,
        instrument_limited=not taken.is_sound,
    )
