"""The axis of nines, which gives every nine the same room, and the ranks that are drawn on it."""

from collections.abc import Iterator

import numpy as np

from taut.report.chart import alt, decades
from taut.report.scene import Ints

POINTS_PER_DECADE = 60
# The slowest packets are drawn one by one: nobody may lose a maximum to a plot.
EVERY_SLOWEST = 100

_NINES = (
    "datum.value == 1 ? '' : format(100 - 100 / datum.value,"
    " '.' + max(round(log(datum.value) / LN10) - 2, 0) + 'f') + ' %'"
)

# A little room beyond the slowest packet.
_ROOM = 1.3


def nines_axis(most: float, *, grid: bool = True) -> alt.X:
    """Draw "one packet in so many was slower" up to the slowest of `most` packets."""
    return alt.X(
        "one_in:Q",
        scale=alt.Scale(type="log", domain=[1, most * _ROOM], nice=False),
        axis=alt.Axis(
            title="share of packets that were faster",
            values=decades(1, most),
            labelExpr=_NINES,
            labelOverlap=True,
            grid=grid,
        ),
    )


def curve_points(values: Ints, n: Ints) -> Iterator[tuple[int, float, float]]:
    """Give exact points of a percentile curve: packets that are slower, one in so many, and us.

    The packet of rank r, and that one in total / (total - r + 1), is as slow. `values` ascend, in
    ns; `n` says how often each occurred.
    """
    upto = np.cumsum(n)
    total = int(upto[-1])
    ranks = plotted_ranks(total)
    slowness = values[np.searchsorted(upto, ranks)]
    for rank, value in zip(ranks.tolist(), slowness.tolist(), strict=True):
        yield total - rank, total / (total - rank + 1), value / 1e3


def plotted_ranks(total: int) -> Ints:
    """Ranks from 1 to total, evenly spaced on the axis, and every one of the slowest."""
    decades_drawn = np.log10(max(total, 2))
    grid = np.logspace(0, decades_drawn, int(POINTS_PER_DECADE * decades_drawn) + 2)
    ranks = total - np.floor(total / grid).astype(np.int64) + 1
    slowest = np.arange(max(1, total - EVERY_SLOWEST + 1), total + 1)
    every = np.unique(np.concatenate([ranks, slowest]))
    chosen: Ints = every[(every >= 1) & (every <= total)]
    return chosen
