"""Many runs of one experiment in the order of their time: what `taut trend --json` prints."""

from collections.abc import Mapping
from dataclasses import dataclass

TREND_FORMAT = 1


@dataclass(frozen=True)
class ConditionChanged:
    """A condition of the machine or of taut that is another one than in the run before."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class RunOfTrend:
    """One run; its place in the list is the `at` of the others."""

    name: str
    run: str
    started_utc: str
    changed: tuple[ConditionChanged, ...]
    """Since the run before, but for what changes with every other run."""


@dataclass(frozen=True)
class StepOfTrend:
    """A change of the median's level."""

    at: int
    """The first run of the new level, counted from 0 among all runs."""
    run: str
    before_ns: float
    after_ns: float
    change: float
    """after / before - 1: above 0 where packets take longer."""
    is_confirmed: bool
    """False: suspected; it was not found without the newest run."""


@dataclass(frozen=True)
class GroupOfRuns:
    """Runs of one level, as CSIT's jumpavg sees it."""

    at: int
    """The first of its runs, among those with a median."""
    n: int
    mean_ns: float
    stdev_ns: float


@dataclass(frozen=True)
class SeriesOfTrend:
    """One device under one load through all runs."""

    load: str
    label: str
    is_floor: bool
    figures_ns: Mapping[str, tuple[float | None, ...]]
    """By name of the figure, one value a run; None: not in that run, or too few packets."""
    spread: float | None
    """How much medians differ from run to run around their level, as a share of it."""
    steps: tuple[StepOfTrend, ...]
    jumpavg: tuple[GroupOfRuns, ...]


@dataclass(frozen=True)
class TrendDocument:
    """What `taut trend --json` prints."""

    verdict: str
    runs: tuple[RunOfTrend, ...]
    series: tuple[SeriesOfTrend, ...]
    always_changing: tuple[str, ...]
    """Conditions that are another one in every second run or more."""
    warnings: tuple[str, ...]
    report: str | None
    """Where the HTML is, if any was wanted."""
    without_void: bool
    """Whether packets that the generator itself held up were left out."""
    format: int = TREND_FORMAT
