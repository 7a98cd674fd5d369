"""Whether a figure grows or shrinks over the rows of a soak, and by how much an hour.

Mann-Kendall's test asks how often a later row lies above an earlier one; rows that resemble the one
before would make chance look like a trend, so its variance is corrected for the autocorrelation of
the rows (Hamed & Rao 1998). The correction only ever makes a claim harder: neighbours that are
unlike each other, as some are by chance, would make the variance smaller than that of independent
rows, or leave none. There, and where rows that grow by the same amount each have no
autocorrelation once the trend is taken off (0 / 0), the test stands by itself. The slope is Theil
and Sen's: the median of all slopes between two rows, which one bad row does not move. Where there
are thousands of rows, medians of neighbours stand for them: test and slope compare every two rows.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from taut.records.documents.soak import Trend

LEAST_ROWS = 10
SIGNIFICANCE = 0.01
"""For each figure: a soak tests several."""
_MOST_ROWS = 2_000


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
    from pymannkendall import hamed_rao_modification_test, original_test
    from scipy.stats import theilslopes

    size = -(-n // _MOST_ROWS)
    rows, at = (_medians(of_rows, size) for of_rows in (values, hours))
    with np.errstate(divide="ignore", invalid="ignore"):
        corrected = hamed_rao_modification_test(rows).p
    # Where there is no correction, NaN, the other.
    p = float(np.fmax(corrected, original_test(rows).p))
    slope = float(theilslopes(rows, at).slope)
    if p >= SIGNIFICANCE or slope == 0:
        return Trend(of, n, "none", p, slope, median)
    return Trend(of, n, "increasing" if slope > 0 else "decreasing", p, slope, median)


def _medians(values: Sequence[float], size: int) -> npt.NDArray[np.float64]:
    """Give the median of every so many values; of what is left at the end, too."""
    return np.array([np.median(values[i : i + size]) for i in range(0, len(values), size)])
