"""Two states measured in turn: what the pairs show, exactly, whatever the distributions are.

The run is the unit of a claim: each repetition gives one number a state, and only the differences
within a repetition count, for drift of the machine hits both of a pair alike. The effect is the
Hodges-Lehmann estimate: the median of the means of all pairs of differences (Walsh averages). Its
interval inverts the exact signed-rank test of Wilcoxon, whose p-value stands beside it. Hollander,
Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed., section 3.2. Of more than 100 pairs
the sum of ranks is taken as normal: to count its ways takes time as the third power of their
number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, floor, isinf, isnan, sqrt
from statistics import median

import numpy as np
import numpy.typing as npt

from taut.core.units import digits_of
from taut.records.documents.trim import PairedRatio

_MOST_EXACT = 100
"""So many pairs have their ranks counted exactly."""


@dataclass(frozen=True)
class Interval:
    """An estimate, and where the truth lies with the confidence asked for."""

    estimate: float
    low: float
    high: float


def paired_ratio(log_ratios: Sequence[float], confidence: float) -> PairedRatio:
    """Judge ln(second / first) of every pair; ValueError: too few pairs for this confidence.

    One of +-inf has a direction and no size: so has what would be made of it.
    """
    found = hodges_lehmann(log_ratios, confidence)
    return PairedRatio(
        n_pairs=len(log_ratios),
        ratio=known_exp(found.estimate),
        low=known_exp(found.low),
        high=known_exp(found.high),
        confidence=confidence,
        p_value=signed_rank_p(log_ratios),
    )


def known_exp(log_ratio: float) -> float | None:
    """Give the ratio of a logarithm; None: it is infinite, or none."""
    return None if isinf(log_ratio) or isnan(log_ratio) else exp(log_ratio)


def inverse(ratio: float | None) -> float | None:
    """Give the ratio of the first to the second; None: it has no size."""
    return None if ratio is None else 1 / ratio


def factor(ratio: float | None) -> str:
    """Write a factor with two or three digits, and as many more as tell it from 1.

    None: it has no size.
    """
    if ratio is None:
        return "of no size"
    if ratio < 0.1 or round(ratio, 2) == 1 != ratio:
        return digits_of(ratio, unlike=1)
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2f}"


def interval_words(
    low: float | None, high: float | None, number: Callable[[float], str] = factor
) -> str:
    """Write an interval; None: it has no end there."""
    if low is None:
        return "without ends" if high is None else f"{number(high)} or less"
    return f"{number(low)} or more" if high is None else f"{number(low)} to {number(high)}"


def hodges_lehmann(differences: Sequence[float], confidence: float) -> Interval:
    """Estimate the location of differences; ValueError: too few for this confidence."""
    n = len(differences)
    means = walsh_averages(differences)
    cut = _cut(n, 1 - confidence)
    if cut is None:
        raise ValueError(f"{n} differences are too few for {confidence:.4f}")
    return Interval(median(means), means[cut], means[-1 - cut])


def walsh_averages(differences: Sequence[float]) -> list[float]:
    """Give the means of all pairs of differences, each with itself too, ascending.

    inf and -inf rank alike, so that their mean is 0.
    """
    means = ((a + b) / 2 for at, a in enumerate(differences) for b in differences[at:])
    return sorted(0.0 if isnan(mean) else mean for mean in means)


def least_pairs(confidence: float) -> int:
    """Give how many pairs an interval of this confidence needs at least."""
    return next(n for n in range(1, 64) if _cut(n, 1 - confidence) is not None)


def signed_rank_p(differences: Sequence[float]) -> float:
    """Give the two-sided p-value of no difference; ties count by their mean rank.

    Pairs without any difference say nothing and are left out; 1 where none is left.
    """
    values = np.array([d for d in differences if d != 0])
    if values.size == 0:
        return 1.0
    doubled = doubled_ranks(np.abs(values))
    positive = int(doubled[values > 0].sum())
    if values.size > _MOST_EXACT:
        return normal_p(positive - float(doubled.sum()) / 2, float((doubled**2).sum()) / 4)
    ways = np.ones(1, dtype=object)
    for rank in doubled:
        longer = np.zeros(ways.size + rank, dtype=object)
        longer[: ways.size] += ways
        longer[rank:] += ways
        ways = longer
    least = min(positive, int(doubled.sum()) - positive)
    n_ways = int(ways[: least + 1].sum())
    return min(1.0, 2 * n_ways / (1 << int(values.size)))


def doubled_ranks(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Give twice the rank of each value: those that are equal share their mean rank, a half."""
    _, at, n = np.unique(values, return_inverse=True, return_counts=True)
    doubled: npt.NDArray[np.int64] = (2 * np.cumsum(n) - n + 1)[at]
    return doubled


def normal_p(beyond: float, variance: float) -> float:
    """Give the two-sided p-value of a normal sum of doubled ranks, by how far it is from its mean.

    Half a rank is taken off: the sum is a whole number of them (the continuity correction).
    """
    from scipy.special import ndtr

    return float(2 * ndtr(-max(0.0, abs(beyond) - 1) / sqrt(variance))) if variance else 1.0


def normal_cut(mean: float, variance: float, error: float) -> int | None:
    """Give the greatest cut with 2 P(W <= cut) <= error of a normal sum of ranks; None: not 0."""
    from scipy.special import ndtri

    cut = floor(mean - 0.5 + sqrt(variance) * float(ndtri(error / 2)))
    return cut if cut >= 0 else None


def _cut(n: int, error: float) -> int | None:
    """Give how many means to leave out at either end: the greatest with 2 P(W <= cut) <= error.

    W is the signed-rank statistic of n differences: a sum of the ranks 1..n, each in with 1/2.
    """
    if n > _MOST_EXACT:
        return normal_cut(n * (n + 1) / 4, n * (n + 1) * (2 * n + 1) / 24, error)
    ways = [1]  # that give the sum which is the index
    for rank in range(1, n + 1):
        longer = [*ways, *[0] * rank]
        for total, count in enumerate(ways):
            longer[total + rank] += count
        ways = longer
    allowed, below, cut = error * 2**n / 2, 0, None
    for total, count in enumerate(ways):
        below += count
        if below > allowed:
            break
        cut = total
    return cut
