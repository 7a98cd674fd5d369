"""Many runs of one experiment: the medians and tails of each device under each load, run by run.

The run is the unit: of each figure it gives the median over its repetitions. Steps are looked for
in the medians alone (steps.py); tails differ too much from run to run. The newest run says which
devices and loads there are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, expm1, log

from taut.analysis.difference import ROUNDING_NS, percent, side_of
from taut.analysis.jumps import csit_groups
from taut.analysis.load import load_words
from taut.analysis.pairing import AnalysedRun, nearest_rate, same_load
from taut.analysis.pooling import asked_of
from taut.analysis.steps import LEAST_RUNS, Step, find_steps, spread
from taut.analysis.surroundings import names_among
from taut.core.errors import InputError
from taut.core.units import format_ns
from taut.records.documents.results import WITH_VOID, WITHOUT_VOID, Analysis, Packets, Variant
from taut.records.documents.trend import GroupOfRuns, SeriesOfTrend, StepOfTrend
from taut.records.rundir import RunDirectory

FIGURES = ("p50", "p99", "p99.9")
JUDGED = "p50"


@dataclass(frozen=True)
class Trend:
    """All series of some runs, devices before floors."""

    names: Sequence[str]
    """What the runs are called, the oldest first."""
    series: Sequence[SeriesOfTrend]
    not_followed: Sequence[str]
    """What the newest run was to measure and did not."""
    without_void: bool = False
    """Whether packets that the generator itself held up are left out."""

    @property
    def verdict(self) -> str:
        """The result in a few sentences."""
        devices = [s for s in self.series if not s.is_floor] or self.series
        told = [f"{title(s)}: {step_words(step)}." for s in devices for step in s.steps]
        if told:
            return " ".join(told)
        n = len(self.names)
        if n < LEAST_RUNS:
            return f"{n} runs: steps are looked for in {LEAST_RUNS} and more."
        searched = [s for s in devices if s.spread is not None]
        rest = [title(s) for s in devices if s.spread is None]
        what = "the median" if len(searched) == 1 else f"any of {len(searched)} medians"
        told = [f"No step shown in {what} of {n} runs."] if searched else []
        why = f"steps are looked for in {LEAST_RUNS} medians above zero and more"
        return " ".join([*told, *([f"Not searched: {', '.join(rest)}; {why}."] if rest else [])])

    @property
    def warnings(self) -> list[str]:
        """What a reader must know before using the verdict."""
        found = [
            f"{called}: not measured in {self.names[-1]}, so it is not followed"
            for called in self.not_followed
        ]
        found += [
            f"the instrument itself changed: {title(s)}: {step_words(step)}"
            for s in self.series
            if s.is_floor and len(self.series) > 1
            for step in s.steps
        ]
        for s in self.series:
            medians = dict(zip(self.names, s.figures_ns[JUDGED], strict=True))
            missing = [name for name, value in medians.items() if value is None]
            below = [name for name, value in medians.items() if value is not None and value <= 0]
            if missing:
                found.append(f"{title(s)}: no median in {', '.join(missing)}")
            if below:
                found.append(f"{title(s)}: the median is not above zero in {', '.join(below)}")
        return found


def title(series: SeriesOfTrend) -> str:
    """Name a series by its device, or as the floor, and its load."""
    return f"{series.label} at {series.load}"


def step_words(step: StepOfTrend) -> str:
    """Say what a step is, and how sure."""
    sure = "confirmed" if step.is_confirmed else "suspected: run again"
    return (
        f"median {format_ns(step.before_ns)} → {format_ns(step.after_ns)} "
        f"({percent(step.change)} %) since {step.run}, {sure}"
    )


def trend_of(
    runs: Sequence[AnalysedRun], names: Sequence[str], *, without_void: bool = False
) -> Trend:
    """Follow what the newest, the last, of some runs measured; InputError: no one experiment."""
    newest, analysis = runs[-1]
    rows = [row for row in analysis.variants if row.latency.n]
    for run, other in runs:
        _refuse_floor_alone(run, other, rows if run is newest else other.variants)
        if not is_of_one_experiment(other, analysis):
            raise InputError(
                f"{run.path} and {newest.path}: different experiments: no device under the same "
                "load is in both; name the runs of one"
            )
    if not rows:
        raise InputError(f"{newest.path}: no packet with a latency; see its report")
    population: Packets = WITHOUT_VOID if without_void else WITH_VOID
    ordered = sorted(rows, key=lambda row: row.is_floor)
    called = names_among([rows])
    series = [_series(row, called(row), runs, names, population) for row in ordered]
    return Trend(names, series, _not_followed(analysis, rows), without_void)


def is_of_one_experiment(other: Analysis, newest: Analysis) -> bool:
    """Whether a device under the same load is in both; where the newest has floors alone: yes."""
    rows = [row for row in newest.variants if row.latency.n]
    shared = [row for row in rows if _in_run(row, other.variants)]
    return any(not row.is_floor for row in shared) or all(row.is_floor for row in rows)


def _refuse_floor_alone(run: RunDirectory, analysis: Analysis, measured: Sequence[Variant]) -> None:
    """InputError: a run has devices, and measured none; its floor is not followed for them."""
    has_devices = any(not trial.device.is_floor for trial in analysis.trials)
    if has_devices and all(row.is_floor for row in measured):
        raise InputError(
            f"{run.path}: no device was measured; see its report, or name the runs without it"
        )


def _not_followed(analysis: Analysis, rows: Sequence[Variant]) -> list[str]:
    """Name what trials were to measure and no row has."""
    followed = {asked_of(row) for row in rows}
    return list(
        dict.fromkeys(
            f"{trial.device.called} at {load_words(trial.load)}"
            for trial in analysis.trials
            if asked_of(trial) not in followed
        )
    )


def _in_run(row: Variant, variants: Sequence[Variant]) -> Variant | None:
    """Find the same device, in the same surroundings, over the same path and load."""
    same = [r for r in variants if _device(r) == _device(row) and same_load(r, row)]
    return next(iter(nearest_rate(row, same)), None)


def _device(row: Variant) -> tuple[object, ...]:
    device = row.device
    return row.is_floor, device.dut, device.link, device.placement, *device.surroundings


def _series(
    row: Variant,
    called: str,
    runs: Sequence[AnalysedRun],
    names: Sequence[str],
    population: Packets,
) -> SeriesOfTrend:
    figures: dict[str, list[float | None]] = {name: [] for name in FIGURES}
    for _, analysis in runs:
        found = _in_run(row, analysis.variants)
        trials = [] if found is None else analysis.trials_of(found)
        for name in FIGURES:
            side = side_of(name, trials, population)
            figures[name].append(side.value_ns if side.supported_ns else None)
    steps, groups, around = _judged(figures[JUDGED], names)
    return SeriesOfTrend(
        load=load_words(row.load),
        label=f"{called}{row.device.unusual}",
        is_floor=row.is_floor,
        figures_ns={name: tuple(values) for name, values in figures.items()},
        spread=around,
        steps=steps,
        jumpavg=groups,
    )


def known_medians(values_ns: Sequence[float | None]) -> dict[int, float]:
    """Give the medians that are searched, by the place of their run.

    Captures whose clocks disagree have medians below zero, which have no logarithm.
    """
    return {at: value for at, value in enumerate(values_ns) if value is not None and value > 0}


def _judged(
    values_ns: Sequence[float | None], names: Sequence[str]
) -> tuple[tuple[StepOfTrend, ...], tuple[GroupOfRuns, ...], float | None]:
    """Give the steps, jumpavg's groups and the spread; nothing of too few runs."""
    known = known_medians(values_ns)
    if len(known) < LEAST_RUNS:
        return (), (), None
    logs = [log(value) for value in known.values()]
    found = find_steps(logs)
    places = list(known)
    steps = tuple(_step(step, places[step.at], names) for step in found if _is_beyond_clock(step))
    return steps, csit_groups(list(known.values())), expm1(spread(logs, found))


def _is_beyond_clock(step: Step) -> bool:
    """Whether a step is more than what the rounding of both levels may make of none."""
    return abs(exp(step.after) - exp(step.before)) > 2 * ROUNDING_NS


def _step(step: Step, at: int, names: Sequence[str]) -> StepOfTrend:
    return StepOfTrend(
        at=at,
        run=names[at],
        before_ns=exp(step.before),
        after_ns=exp(step.after),
        change=expm1(step.after - step.before),
        is_confirmed=step.is_confirmed,
    )


def changing(changes: Mapping[str, int], n_runs: int) -> tuple[str, ...]:
    """Give the conditions that change with every other run or more: no step is due to one."""
    return tuple(name for name, n in changes.items() if n > 1 and 2 * n >= n_runs - 1)
