"""Whether a figure grows or shrinks over the rows of a soak, and by how much an hour.

Of more than 48 rows medians of neighbours are tested: 24 to 48. Mann-Kendall's test asks how often
a later one lies above an earlier one; those that resemble the one before would make chance look
like a trend, so its variance is multiplied by that of a mean of an autoregression of first order
over that of independent values (Bayley & Hammersley 1946). Its coefficient is the correlation of
neighbours once the slope is taken off, which short series underestimate: corrected for that
(Marriott & Pope 1954). The correction only ever makes a claim harder: where neighbours are unlike
each other, as some are by chance, or nothing is left once the slope is taken off (0 / 0), the test
stands by itself. The slope is Theil and Sen's: the median of all slopes between two of them, which
a bad one does not move.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from taut.records.documents.soak import Trend

LEAST_ROWS = 10
SIGNIFICANCE = 0.01
"""For each figure: a soak tests several."""
_MOST_ROWS = 48
_MOST_ALIKE = 0.95
"""The coefficient of neighbours that is taken at most; beyond, nothing could be claimed."""
_ROUNDED = 1e-9
"""Of the range: what is left of an even growth."""

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
    from pymannkendall import original_test
    from scipy.special import ndtr
    from scipy.stats import theilslopes

    size = -(-n // _MOST_ROWS)
    rows, at = (_medians(of_rows, size) for of_rows in (values, hours))
    slope = float(theilslopes(rows, at).slope)
    test = original_test(rows)
    p = float(2 * ndtr(-abs(test.z) / np.sqrt(_times_as_varied(rows, slope * at))))
    if p >= SIGNIFICANCE or slope == 0:
        return Trend(of, n, "none", p, slope, median)
    return Trend(of, n, "increasing" if slope > 0 else "decreasing", p, slope, median)


def _times_as_varied(rows: Reals, trend: Reals) -> float:
    """Give how many times as much a mean of such rows varies as one of independent ones."""
    n = len(rows)
    beyond = rows - trend - (rows - trend).mean()
    beyond[np.abs(beyond) < _ROUNDED * np.ptp(rows)] = 0
    with np.errstate(invalid="ignore"):
        alike = (beyond[1:] * beyond[:-1]).sum() / (beyond**2).sum()
    # Of n values without their slope it is (2 + 4 x alike) / n too small on average.
    alike = np.fmax(0, min((n * alike + 2) / (n - 4), _MOST_ALIKE))
    apart = np.arange(1, n)
    return float(1 + 2 * ((1 - apart / n) * alike**apart).sum())


def _medians(values: Sequence[float], size: int) -> Reals:
    """Give the median of every so many values; of what is left at the end, too."""
    return np.array([np.median(values[i : i + size]) for i in range(0, len(values), size)])
