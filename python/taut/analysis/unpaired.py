"""Two sides measured apart: what their runs show, exactly, whatever the distributions are.

Each run gives one number. The shift is the Hodges-Lehmann estimate: the median of all differences
between a run of the second side and one of the first. Its interval inverts the exact rank-sum test
(Mann-Whitney, Wilcoxon), whose p-value stands beside it. Hollander, Wolfe and Chicken,
Nonparametric Statistical Methods, 3rd ed., sections 4.1 to 4.3. `paired.py` has the same for sides
that were measured in turn. Of very many runs the rank sum is taken as normal: to count its ways
takes time as the fourth power of their number.
"""

from collections.abc import Sequence
from functools import cache
from math import comb
from statistics import median

import numpy as np
import numpy.typing as npt

from taut.analysis.paired import Interval, doubled_ranks, normal_cut, normal_p

_MOST_EXACT = 10_000
"""Runs of the smaller side times runs of both: half a second. 70 a side, or 4 and 2,496."""


def rank_sum_p(first: Sequence[float], second: Sequence[float]) -> float:
    """Give the two-sided p-value of no difference; ties count by their mean rank.

    scipy's exact Mann-Whitney test takes all values as different. ValueError: a side is empty.
    """
    if not first or not second:
        raise ValueError("a side without runs has no rank")
    first, second = sorted((first, second), key=len)
    doubled = doubled_ranks(np.array([*first, *second]))
    own = int(doubled[: len(first)].sum())
    if _are_many(len(first), len(second)):
        expected = len(first) * float(doubled.mean())
        variance = len(first) * len(second) * float(doubled.var(ddof=1)) / len(doubled)
        return normal_p(own - expected, variance)
    ways = _ways(doubled, len(first))
    below, above = float(ways[: own + 1].sum()), float(ways[own:].sum())
    return min(1.0, 2 * min(below, above) / comb(len(doubled), len(first)))


def shift(first: Sequence[float], second: Sequence[float], confidence: float) -> Interval | None:
    """Estimate how far `second` lies above `first`; None: too few runs for this confidence."""
    differences = sorted(b - a for a in first for b in second)
    cut = _cut(len(first), len(second), 1 - confidence)
    if cut is None:
        return None
    return Interval(median(differences), differences[cut], differences[-1 - cut])


def least_rank_sum_p(n_first: int, n_second: int) -> float:
    """Give the smallest p-value that so many runs can have, ties apart."""
    if _are_many(n_first, n_second):
        pairs = n_first * n_second
        return normal_p(pairs, pairs * (n_first + n_second + 1) / 3)
    return min(1.0, 2 / comb(n_first + n_second, n_first))


@cache
def _cut(n_first: int, n_second: int, error: float) -> int | None:
    """Give how many differences to leave out at either end: the most with 2 P(U <= cut) <= error.

    U is the Mann-Whitney statistic of two sides without ties; None: not even 0 is that rare.
    """
    n_first, n_second = sorted((n_first, n_second))
    n = n_first + n_second
    if _are_many(n_first, n_second):
        return normal_cut(n_first * n_second / 2, n_first * n_second * (n + 1) / 12, error)
    ranks = np.arange(1, n + 1, dtype=np.int64)
    ways = _ways(ranks, n_first)[n_first * (n_first + 1) // 2 :]
    # One in 1e12 more, for decimals such as 1 - 0.95 that binary fractions miss.
    allowed = error * comb(n, n_first) / 2 * (1 + 1e-12)
    n_rare = int(np.count_nonzero(np.cumsum(ways) <= allowed))
    return n_rare - 1 if n_rare else None


def _are_many(n_first: int, n_second: int) -> bool:
    return min(n_first, n_second) * (n_first + n_second) > _MOST_EXACT


def _ways(ranks: npt.NDArray[np.int64], n: int) -> npt.NDArray[np.float64]:
    """Count the choices of n of these ranks by their sum, which is the index.

    Exact up to 2^53 choices (25 runs a side), and to 16 digits beyond.
    """
    ways = np.zeros((n + 1, int(np.sort(ranks)[-n:].sum()) + 1))
    ways[0, 0] = 1
    for rank in ranks.tolist():
        ways[1:, rank:] += ways[:-1, :-rank]
    counted: npt.NDArray[np.float64] = ways[n]
    return counted
