"""One figure of two runs: which difference the packets and the repetitions support.

The relative improvement is (A - B) / A, as in "Ducked Tails" (HiPNet 2021).  An effect is claimed
only where the interval of A - B excludes zero.  That interval is the widest that the two 95 %
intervals allow: lower end of A less upper end of B, and the other way round.  Where both are about
as wide it errs once in 200 times, so the eight figures of a table together about once in 20.

Both stamps of a latency are rounded to nanoseconds, so neither side is known better than to one.

Order statistics take packets as independent, which packets of one stall are not.  So where
repetitions were made, their spread (Welch's interval of the difference of means) must agree: the
interval covers both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import sqrt
from statistics import fmean, variance
from typing import Any

from scipy.stats import t as student_t

from taut.analysis.statistics import PERCENTILES, SUPPORT, Summary

Interval = tuple[float, float]

ROUNDING_NS = 1
"""Half a nanosecond for each of the two stamps."""

_QUANTILE = 0.975
_NORMAL = 1.96  # the same quantile of the normal distribution


class Shown(StrEnum):
    """What is claimed of one figure."""

    FASTER = "faster"
    SLOWER = "slower"
    NOTHING = "no difference shown"
    UNSUPPORTED = "too few packets to say"


@dataclass(frozen=True)
class Side:
    """One figure in one run: of all repetitions' packets, and of each repetition."""

    value_ns: float | None
    interval_ns: Interval | None
    n_above: int | None
    """Packets above a percentile; None where that does not decide."""
    repetitions_ns: Sequence[float]

    @property
    def is_supported(self) -> bool:
        """Whether anything may be claimed of it."""
        return self.interval_ns is not None and (self.n_above is None or self.n_above >= SUPPORT)


@dataclass(frozen=True)
class Difference:
    """One figure in both runs."""

    name: str
    a: Side
    b: Side
    interval_ns: Interval | None
    """Of A - B, at 95 %; None where nothing may be claimed."""

    @property
    def improvement(self) -> float | None:
        """(A - B) / A; None where A is not above zero."""
        if self.a.value_ns is None or self.b.value_ns is None or self.a.value_ns <= 0:
            return None
        return (self.a.value_ns - self.b.value_ns) / self.a.value_ns

    @property
    def improvement_interval(self) -> Interval | None:
        """The interval of A - B as a share of A."""
        if self.interval_ns is None or self.improvement is None or self.a.value_ns is None:
            return None
        low, high = self.interval_ns
        return low / self.a.value_ns, high / self.a.value_ns

    @property
    def shown(self) -> Shown:
        """What is claimed."""
        if self.interval_ns is None:
            return Shown.UNSUPPORTED
        low, high = self.interval_ns
        if low > 0:
            return Shown.FASTER
        return Shown.SLOWER if high < 0 else Shown.NOTHING

    def as_json(self) -> dict[str, object]:
        """One row of `taut compare --json`."""
        document: dict[str, object] = {"name": self.name, "shown": str(self.shown)}
        for name, side in (("a", self.a), ("b", self.b)):
            document[f"{name}_ns"] = side.value_ns
            document[f"{name}_interval_ns"] = side.interval_ns
            document[f"{name}_n_above"] = side.n_above
            document[f"{name}_of_repetitions_ns"] = list(side.repetitions_ns)
        document["difference_interval_ns"] = self.interval_ns
        document["improvement"] = self.improvement
        document["improvement_interval"] = self.improvement_interval
        return document


def sides_of(summary: Summary, repetitions: Sequence[Mapping[str, Any]]) -> dict[str, Side]:
    """Every figure of one run: its value, its interval, and its value in each repetition."""
    figures: dict[str, tuple[float | None, Interval | None, int | None]] = {
        "min": (summary.least, None, None),
        "mean": (summary.mean, _mean_interval(summary), None),
    }
    for name in PERCENTILES:
        low, high = summary.intervals[name]
        interval = None if low is None or high is None else (float(low), float(high))
        figures[name] = (summary.percentiles[name], interval, summary.n_above[name])
    figures["max"] = (summary.greatest, None, 0)
    return {
        name: Side(*figure, [r[name] for r in repetitions if r[name] is not None])
        for name, figure in figures.items()
    }


def _mean_interval(summary: Summary) -> Interval | None:
    if summary.mean is None or summary.stdev is None or summary.n < 2 * SUPPORT:
        return None
    half = _NORMAL * summary.stdev / sqrt(summary.n)
    return summary.mean - half, summary.mean + half


def difference(name: str, a: Side, b: Side) -> Difference:
    """Set one figure of two runs side by side."""
    if a.interval_ns is None or b.interval_ns is None or not (a.is_supported and b.is_supported):
        return Difference(name, a, b, None)
    low = a.interval_ns[0] - b.interval_ns[1] - 2 * ROUNDING_NS
    high = a.interval_ns[1] - b.interval_ns[0] + 2 * ROUNDING_NS
    spread = repetition_interval(a.repetitions_ns, b.repetitions_ns)
    if spread is not None:
        low, high = min(low, spread[0]), max(high, spread[1])
    return Difference(name, a, b, (low, high))


def repetition_interval(a: Sequence[float], b: Sequence[float]) -> Interval | None:
    """The 95 % interval of mean(a) - mean(b); None where neither side was repeated.

    A side that was not repeated is taken to spread as the other does.
    """
    repeated = [side for side in (a, b) if len(side) > 1]
    if not a or not b or not repeated:
        return None
    parts = [variance(s if len(s) > 1 else repeated[0]) / len(s) for s in (a, b)]
    middle, total = fmean(a) - fmean(b), sum(parts)
    if not total:
        return middle, middle
    freedom = float(len(repeated[0]) - 1)
    if len(repeated) == 2:
        freedom = total**2 / sum(p**2 / (len(s) - 1) for p, s in zip(parts, (a, b), strict=True))
    half = float(student_t.ppf(_QUANTILE, freedom)) * sqrt(total)
    return middle - half, middle + half


def percent(share: float) -> str:
    """A signed share in percent, with the digits that count."""
    value = 100 * share
    digits = 0 if abs(value) >= 10 else 1 if abs(value) >= 1 else 2
    return f"{value:+.{digits}f}" if round(value, digits) else "0"
