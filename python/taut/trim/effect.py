"""Effect: what sets of knobs do to the packets of a run, judged against the host as found.

The run is the unit of a claim: each repetition gives one number for each state, figure and cell (a
device under a load), and only differences within a repetition count. How many claims a table will
hold is known before anything is measured, and each has its share of the error (Bonferroni), so that
all of its intervals hold together. Pure: numbers in, claims out; effect_run.py has the rest.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import exp, isfinite, log
from statistics import fmean, median

from taut.analysis.paired import hodges_lehmann, least_pairs, signed_rank_p
from taut.core.errors import InputError, TautError
from taut.experiment.model import MOST_REPETITIONS
from taut.records.documents.effect import Claim as Claim
from taut.records.rundir import AS_FOUND
from taut.trim.bench import Figures, Repetition, known_median, losses_of, mean_log_ratio

CONFIDENCE = 0.95
"""That all intervals of a table hold together."""
STOLEN = "time stolen"


class Shown(StrEnum):
    """What the interval of a figure says about on compared with off."""

    LESS = "less"
    MORE = "more"
    NOTHING = "no"
    TOO_FEW = "too few"
    """Too few pairs of trials are left, because trials failed or did not keep their state."""
    LOSSES = "losses decide"
    """Off or on, the percentile is a packet that was lost or not sent (bench.losses_of)."""
    NOT_LOGGED = "not logged"


class Scale(StrEnum):
    """How off and on are compared."""

    RATIO = "ratio"
    """The value with the knobs on, divided by that with them off."""
    DIFFERENCE = "difference"
    """The value with the knobs on, less that with them off."""


@dataclass(frozen=True)
class Measured:
    """One trial of a device, in numbers."""

    state: str
    repetition: int
    cell: str
    percentiles: Mapping[str, float]
    """Of the service latency, in ns, above 0; those with too few packets above are left out.

    inf: it is one of the packets that were lost or not sent, which are slower than any.
    """
    stolen_share: float | None
    """The share of the measured time in gaps, 0 to 1; None where the device does not log gaps."""
    sent: int
    lost: int
    void_share: float
    gone: float = 0.0
    """The share that was lost or not sent, as in a trim."""
    n_not_kept: int = 0
    """Changes of the state that somebody else took back during the trial; 0, or it is of none."""


@dataclass(frozen=True)
class FigureEffect:
    """One figure of a set, off and on."""

    name: str
    scale: Scale
    off: Sequence[float | None]
    """One number a repetition, the mean over the cells: ns (inf: lost), or a share of the time.

    None: of `on` alone that repetition has one.
    """
    on: Sequence[float | None]
    claim: Claim | None
    """None: `shown` says why there is none."""
    shown: Shown

    @property
    def medians(self) -> tuple[float | None, float | None]:
        """Medians of off and of on; None where no trial has the figure, or it is a lost packet."""
        return known_median(self.off), known_median(self.on)


@dataclass(frozen=True)
class SetEffect:
    """What one set does."""

    name: str
    figures: Sequence[FigureEffect]
    lost: tuple[int, int]
    """Packets that never came back, off and on, of all trials; nothing is claimed of them."""
    sent: tuple[int, int]
    losses: str | None
    """Where some figure is a lost packet, so that nothing is claimed of it; None: nowhere."""
    void_share: tuple[float, float]
    """Median over the trials, off and on; nothing is claimed of it. 0 where no trial is left."""

    @property
    def percentiles(self) -> list[FigureEffect]:
        """Every figure but the time stolen."""
        return [figure for figure in self.figures if figure.scale is Scale.RATIO]


def n_claims_of(n_sets: int, percentiles: Sequence[str]) -> int:
    """Count the intervals of a table: each percentile and the time stolen, of each set."""
    return n_sets * (len(percentiles) + 1)


def confidence_of(n_claims: int) -> float:
    """Give the confidence of each of so many intervals that hold together with CONFIDENCE."""
    return 1 - (1 - CONFIDENCE) / n_claims


def check_repetitions(repetitions: int, n_claims: int) -> None:
    """InputError: so few give no interval for so many claims, or more than an experiment takes."""
    least = least_pairs(confidence_of(n_claims))
    if repetitions < least:
        raise InputError(
            f"--repetitions {repetitions}: too few for intervals of {n_claims} figures that hold "
            f"together; {least} or more"
        )
    if repetitions > MOST_REPETITIONS:
        raise InputError(f"--repetitions {repetitions}: {MOST_REPETITIONS} at most")


def judge(
    trials: Sequence[Measured], sets: Sequence[str], percentiles: Sequence[str]
) -> list[SetEffect]:
    """Judge every set, by the name of its state; TautError: too few trials ended as planned."""
    confidence = confidence_of(n_claims_of(len(sets), percentiles))
    kept = [trial for trial in trials if not trial.n_not_kept]
    found = [_judge_set(kept, name, percentiles, confidence) for name in sets]
    unclaimed = (Shown.TOO_FEW, Shown.NOT_LOGGED)
    if all(figure.shown in unclaimed for one in found for figure in one.figures):
        raise TautError(
            "effect: too many trials failed, or did not keep their state, which somebody else "
            "changes, or one device under a load is better by a lost packet and another worse: the "
            "pairs of runs that are left can show nothing"
        )
    return found


_Value = Callable[[Measured], float | None]
_Cells = dict[str, dict[str, float]]
"""A number of each cell, by the name of its state."""


def _judge_set(
    trials: Sequence[Measured], name: str, percentiles: Sequence[str], confidence: float
) -> SetEffect:
    off = [trial for trial in trials if trial.state == AS_FOUND]
    on = [trial for trial in trials if trial.state == name]
    figures = [
        _judge_figure(p, Scale.RATIO, off, on, _percentile(p), confidence) for p in percentiles
    ]
    losses = [_losses(off, on, name, p) for p in percentiles]
    figures = [
        figure if words is None else replace(figure, claim=None, shown=Shown.LOSSES)
        for figure, words in zip(figures, losses, strict=True)
    ]
    figures.append(_judge_figure(STOLEN, Scale.DIFFERENCE, off, on, _stolen_share, confidence))
    lost = (sum(trial.lost for trial in off), sum(trial.lost for trial in on))
    sent = (sum(trial.sent for trial in off), sum(trial.sent for trial in on))
    void = (_median_void(off), _median_void(on))
    return SetEffect(name, figures, lost, sent, next(filter(None, losses), None), void)


def _losses(
    off: Sequence[Measured], on: Sequence[Measured], name: str, percentile: str
) -> str | None:
    found: dict[int, tuple[_Cells, _Cells]] = {}
    for trial in (*off, *on):
        none: tuple[_Cells, _Cells] = ({AS_FOUND: {}, name: {}}, {AS_FOUND: {}, name: {}})
        figures, gone = found.setdefault(trial.repetition, none)
        gone[trial.state][trial.cell] = trial.gone
        if percentile in trial.percentiles:
            figures[trial.state][trial.cell] = trial.percentiles[percentile]
    losses = losses_of(
        [Repetition(number, figures, gone=gone) for number, (figures, gone) in found.items()],
        AS_FOUND,
        name,
    )
    return None if losses is None else losses.words


def _median_void(trials: Sequence[Measured]) -> float:
    return median(trial.void_share for trial in trials) if trials else 0.0


def _percentile(name: str) -> _Value:
    return lambda trial: trial.percentiles.get(name)


def _stolen_share(trial: Measured) -> float | None:
    return trial.stolen_share


def _judge_figure(
    name: str,
    scale: Scale,
    off: Sequence[Measured],
    on: Sequence[Measured],
    value: _Value,
    confidence: float,
) -> FigureEffect:
    # A ratio is a difference of logarithms; everything else is the same for both scales.
    is_ratio = scale is Scale.RATIO
    there, back = (log, exp) if is_ratio else (float, float)
    difference_of = mean_log_ratio if is_ratio else _mean_difference
    before, after = _by_repetition(off, value), _by_repetition(on, value)
    numbers = sorted(before.keys() | after.keys())
    values = [
        [back(fmean(map(there, of[n].values()))) if n in of else None for n in numbers]
        for of in (before, after)
    ]
    differences = [difference_of(before.get(n, {}), after.get(n, {})) for n in numbers]
    claim = _claim([d for d in differences if d is not None], confidence, back)
    if claim is None:
        is_logged = is_ratio or bool(before or after)
        shown = Shown.TOO_FEW if is_logged else Shown.NOT_LOGGED
    else:
        shown = _shown(claim, neutral=back(0.0))
    return FigureEffect(name, scale, values[0], values[1], claim, shown)


def _mean_difference(before: Figures, after: Figures) -> float | None:
    """Give the mean over the cells of after - before; None: one state lacks a cell."""
    if not before or before.keys() != after.keys():
        return None
    return fmean(after[cell] - before[cell] for cell in before)


def _by_repetition(trials: Sequence[Measured], value: _Value) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    for trial in sorted(trials, key=lambda trial: trial.repetition):
        if (number := value(trial)) is not None:
            found.setdefault(trial.repetition, {})[trial.cell] = number
    return found


def _claim(
    differences: Sequence[float], confidence: float, back: Callable[[float], float]
) -> Claim | None:
    try:
        found = hodges_lehmann(differences, confidence)
    except ValueError:
        return None
    return Claim(
        n_pairs=len(differences),
        estimate=back(found.estimate),
        low=back(found.low) if isfinite(found.low) else None,
        high=back(found.high) if isfinite(found.high) else None,
        p_value=signed_rank_p(differences),
    )


def _shown(claim: Claim, neutral: float) -> Shown:
    if claim.high is not None and claim.high < neutral:
        return Shown.LESS
    return Shown.MORE if claim.low is not None and claim.low > neutral else Shown.NOTHING
