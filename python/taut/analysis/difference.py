"""One figure of two runs of taut: the improvement, and what the repetitions show of it.

The improvement is (A - B) / A, as in "Ducked Tails" (HiPNet 2021), of the Hodges-Lehmann estimate
of A - B over the repetitions of both sides. `claims.py` says when it is claimed. Both stamps of a
latency are rounded to nanoseconds, so the interval is widened by what that may hide on both sides.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median

from taut.analysis.claims import Evidence, Judged, Said, compare_groups, judge_table
from taut.analysis.runs import figure_of, gone_apart, gone_of, n_above
from taut.core.percentiles import PERCENTILES
from taut.records.documents.comparison import FigureCompared
from taut.records.documents.results import WITH_VOID, Packets, TrialResult

Interval = tuple[float, float]

ROUNDING_NS = 1
"""The rounding error of a latency: half a nanosecond for each of its two stamps."""

FIGURES = ("min", "mean", *PERCENTILES, "max")

_EXTREMES = {"min": min, "max": max}
"""Figures of a single packet among all repetitions: they are shown and never claimed."""


class Shown(StrEnum):
    """What is claimed of one figure."""

    FASTER = "faster"
    SLOWER = "slower"
    NOTHING = "no difference shown"
    TOO_FEW_RUNS = "too few runs"
    LOSSES = "losses differ"
    UNSUPPORTED = "too few packets to say"
    BROKEN = "sums do not come out"


_SHOWN = {
    Said.LESS: Shown.FASTER,
    Said.MORE: Shown.SLOWER,
    Said.NOTHING: Shown.NOTHING,
    Said.TOO_FEW: Shown.TOO_FEW_RUNS,
    Said.LOSSES: Shown.LOSSES,
}


@dataclass(frozen=True)
class Side:
    """One figure in one run directory."""

    value_ns: float | None
    """The median over the repetitions; for min and max the least and the greatest of them."""
    repetitions_ns: Sequence[float]
    """The figure of each repetition that has packets."""
    supported_ns: Sequence[float]
    """The figures that are judged: of repetitions with enough packets; empty for min and max."""
    n_above: int | None
    """Packets above a percentile in the repetition with the fewest; None for other figures."""
    gone: float = 0.0
    """The share of packets that were lost or not sent, the median over the repetitions."""


@dataclass(frozen=True)
class Difference:
    """One figure of two runs. `judged` is None until the whole table has been judged."""

    name: str
    a: Side
    b: Side
    evidence: Evidence | None
    """Compares B - A, in ns; None where too few packets support the figure."""
    judged: Judged | None = None
    is_broken: bool = False
    """Whether sums of a side do not come out: then there is no evidence, and no claim."""

    @property
    def interval_ns(self) -> Interval | None:
        """The 95 % interval of A - B; None where packets or repetitions are too few for one."""
        if self.evidence is None or self.evidence.low is None or self.evidence.high is None:
            return None
        return -self.evidence.high - 2 * ROUNDING_NS, -self.evidence.low + 2 * ROUNDING_NS

    @property
    def improvement(self) -> float | None:
        """(A - B) / A; None where A is not above zero."""
        if self.a.value_ns is None or self.b.value_ns is None or self.a.value_ns <= 0:
            return None
        less = (
            self.a.value_ns - self.b.value_ns if self.evidence is None else -self.evidence.estimate
        )
        return less / self.a.value_ns

    @property
    def improvement_interval(self) -> Interval | None:
        """The interval of A - B as a share of A."""
        if self.interval_ns is None or self.improvement is None or self.a.value_ns is None:
            return None
        low, high = self.interval_ns
        return low / self.a.value_ns, high / self.a.value_ns

    @property
    def shown(self) -> Shown:
        """What may be claimed; UNSUPPORTED where too few packets support the figure."""
        if self.is_broken:
            return Shown.BROKEN
        if self.evidence is None:
            return Shown.UNSUPPORTED
        shown = Shown.TOO_FEW_RUNS if self.judged is None else _SHOWN[self.judged.said]
        if shown not in (Shown.FASTER, Shown.SLOWER) or self.interval_ns is None:
            return shown
        low, high = self.interval_ns
        return Shown.NOTHING if low <= 0 <= high else shown

    def document(self) -> FigureCompared:
        """Give one row of `taut compare --json`."""
        return FigureCompared(
            name=self.name,
            shown=self.shown,
            a_ns=self.a.value_ns,
            a_n_above=self.a.n_above,
            a_of_repetitions_ns=tuple(self.a.repetitions_ns),
            b_ns=self.b.value_ns,
            b_n_above=self.b.n_above,
            b_of_repetitions_ns=tuple(self.b.repetitions_ns),
            difference_interval_ns=self.interval_ns,
            improvement=self.improvement,
            improvement_interval=self.improvement_interval,
            p_value=None if self.evidence is None else self.evidence.p_value,
            p_corrected=None if self.judged is None else self.judged.p_corrected,
        )


def side_of(name: str, trials: Sequence[TrialResult], population: Packets = WITH_VOID) -> Side:
    """Take one figure from the results of a variant's repetitions."""
    found_in = [(t, t.latency(population).value_ns(name)) for t in trials]
    measured = [t for t, value in found_in if value is not None]
    values = [float(value) for _, value in found_in if value is not None]
    if not values:
        return Side(None, [], [], 0 if name in PERCENTILES else None)
    if name in _EXTREMES:
        return Side(_EXTREMES[name](values), values, [], None)
    found = [figure_of(t, name, population) for t in measured]
    above = [n_above(t, name, population) for t in measured] if name in PERCENTILES else []
    supported = [value for value in found if value is not None]
    gone = gone_of(trials, population)
    return Side(median(values), values, supported, min(above, default=None), gone)


def difference(name: str, a: Side, b: Side, *, is_broken: bool = False) -> Difference:
    """Set one figure of two runs side by side; `judge` says what may be claimed."""
    if is_broken:
        return Difference(name, a, b, None, is_broken=True)
    if not a.supported_ns or not b.supported_ns:
        return Difference(name, a, b, None)
    evidence = compare_groups(a.supported_ns, b.supported_ns)
    return Difference(name, a, b, replace(evidence, gone=gone_apart(a.gone, b.gone, name)))


def judge(table: Sequence[Difference]) -> list[Difference]:
    """Judge all figures of a table together, in its order."""
    judged = iter(judge_table([d.evidence for d in table if d.evidence is not None]))
    return [
        d if d.evidence is None else Difference(d.name, d.a, d.b, d.evidence, next(judged))
        for d in table
    ]


def percent(share: float) -> str:
    """A signed share in percent, with the digits that count."""
    value = 100 * share
    digits = 0 if abs(value) >= 10 else 1 if abs(value) >= 1 else 2
    return f"{value:+.{digits}f}" if round(value, digits) else "0"
