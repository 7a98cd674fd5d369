"""Whether a figure grows or shrinks over the rows of a soak, and by how much an hour.

Of more than 288 rows medians of neighbours are tested: 145 to 288. Mann-Kendall's test asks how
often a later one lies above an earlier one; where rows resemble those before, chance looks like a
trend. How much they do is not known, so p is the mean over models of it: autoregressions of first
order, by themselves and with independent noise on top. A model counts as much as the rows make it
likely, whatever parabola they follow (the marginal likelihood of what is left of them, with a
variance that is not known: Harville 1974). Under each the test's variance is multiplied by that of
a slope of such rows over that of independent ones.

It is the ranks of the rows that are looked at, as by the test: a leak that grows faster and faster,
from noon on or in steps has ranks that are nearly even, whatever its values are, while residuals of
the values would take its bends for rows that resemble each other. The models only ever make a claim
harder; where nothing is left of the ranks, as where each row is above the one before, the test
stands by itself. The slope is Theil and Sen's: the median of all slopes between two rows, which a
bad one does not move.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from taut.records.documents.soak import Trend

LEAST_ROWS = 10
SIGNIFICANCE = 0.01
"""For each figure: a soak tests several."""
_MOST_ROWS = 288
"""The more there are, the better slow noise is told from growth; the work is that of their cube."""
_ALIKE = (0.0, 0.25, 0.5, 0.75, 0.9, 0.97)
"""Correlations with the row before, of what is slow in the rows. Beyond, a claim would hardly be
possible: rows of five minutes forget half in two hours at 0.97."""
_SHARES = (1.0, 0.9, 0.7, 0.4, 0.2)
"""Of the variance, how much is slow; the rest is independent from row to row."""
_N_CURVE = 3
"""Coefficients of the parabola. With a cubic a cycle of a day would be a trend."""
_ROUNDED = 1e-9
"""Of the variance of the ranks: what is left where they are even."""

Reals = npt.NDArray[np.float64]


def trend_of(of: str, hours: Sequence[float], values: Sequence[float]) -> Trend:
    """Test one figure; `hours` are the middles of its rows."""
    n = len(values)
    if n < LEAST_ROWS:
        median = float(np.median(values)) if n else None
        return Trend(of, n, "too few rows", None, None, median)
    median = float(np.median(values))
    if min(values) == max(values):
        return Trend(of, n, "none", 1.0, 0.0, median)
    # Here, not above: it loads scipy.stats.
    from scipy.stats import theilslopes

    size = -(-n // _MOST_ROWS)
    rows, at = (_medians(of_rows, size) for of_rows in (values, hours))
    slope = float(theilslopes(rows, at).slope)
    p = _p_value(rows)
    if p >= SIGNIFICANCE or slope == 0:
        return Trend(of, n, "none", p, slope, median)
    return Trend(of, n, "increasing" if slope > 0 else "decreasing", p, slope, median)


def _p_value(rows: Reals) -> float:
    """Give Mann-Kendall's p, the mean over models of how rows resemble those before."""
    from pymannkendall import original_test
    from scipy.special import ndtr, softmax
    from scipy.stats import rankdata

    test = original_test(rows)
    ranks = rankdata(rows) - (len(rows) + 1) / 2
    likely, varied = [], []
    for slow in _slow_noises(len(rows)):
        left = (slow.contrasts @ ranks) ** 2
        if left.sum() <= _ROUNDED * (ranks**2).sum():
            return float(test.p)
        for share in _SHARES:
            variances = share * slow.variances + 1 - share
            scale = (left / variances).mean()
            likely.append(-(np.log(variances).sum() + len(left) * np.log(scale)) / 2)
            # Of a slope, over that of the rows about their mean, which their ranks have lost.
            of_slope, of_rows = (share * of + 1 - share for of in (slow.of_slope, slow.of_rows))
            varied.append(max(1.0, of_slope / of_rows))
    return float(softmax(likely) @ (2 * ndtr(-abs(test.z) / np.sqrt(varied))))


class _SlowNoise(NamedTuple):
    """An autoregression of variance 1; of independent noise all variances would be 1."""

    contrasts: Reals
    """Independent sums of rows, one a row, that no parabola changes."""
    variances: Reals
    of_slope: float
    of_rows: float
    """As they vary about the mean of all."""


@lru_cache(maxsize=2)  # Of one soak most figures have as many rows; those of 288 take 4 MB.
def _slow_noises(n: int) -> tuple[_SlowNoise, ...]:
    at = np.arange(n) - (n - 1) / 2
    free = np.linalg.qr(np.vander(at / n, _N_CURVE), mode="complete").Q[:, _N_CURVE:]
    found = []
    for alike in _ALIKE:
        covariance = alike ** np.abs(at[:, None] - at)
        variances, turned = np.linalg.eigh(free.T @ covariance @ free)
        of_slope = float(at @ covariance @ at / (at @ at))
        of_rows = float((n - covariance.sum() / n) / (n - 1))
        found.append(_SlowNoise(turned.T @ free.T, variances, of_slope, of_rows))
    return tuple(found)


def _medians(values: Sequence[float], size: int) -> Reals:
    """Give the median of every so many values; of what is left at the end, too."""
    return np.array([np.median(values[i : i + size]) for i in range(0, len(values), size)])
