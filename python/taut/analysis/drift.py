"""Whether a figure grows or shrinks over the rows of a soak, and by how much an hour.

Mann-Kendall's test asks how often a later row lies above an earlier one; rows that resemble the one
before would make chance look like a trend, so its variance is corrected for the autocorrelation of
the rows (Hamed & Rao 1998). The slope is Theil and Sen's: the median of all slopes between two
rows, which one bad row does not move.
"""

from collections.abc import Sequence

import numpy as np

from taut.records.documents.soak import Trend

LEAST_ROWS = 10
SIGNIFICANCE = 0.01
"""For each figure: a soak tests several."""


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
    from pymannkendall import hamed_rao_modification_test
    from scipy.stats import theilslopes

    found = hamed_rao_modification_test(np.asarray(values, np.float64))
    slope = float(theilslopes(values, hours).slope)
    p = float(found.p)
    if not np.isfinite(p) or p >= SIGNIFICANCE or slope == 0:
        return Trend(of, n, "none", p if np.isfinite(p) else None, slope, median)
    return Trend(of, n, "increasing" if slope > 0 else "decreasing", p, slope, median)
