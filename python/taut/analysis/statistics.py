"""Numbers of a distribution: percentiles with their support, mean, spread, extremes.

Percentile p is percentile_disc: the smallest observed value whose cumulative share is >= p.  Its
95 % confidence interval comes from order statistics: the ranks between which the true quantile
lies with 95 % probability.  Packets of one stall are not independent, so the ranks are those of as
many independent packets as they are worth (effective.py), where it is known when packets were late.
Where it is not known packets are taken as independent, and the interval is too narrow.

Everything is computed from exact integers, rounded once at the end: whatever counted the values,
and in whatever order they come, the numbers are the same to the last digit.  Nothing heavy is
imported before it is needed: `taut analyze --json` is done before scipy would have started.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from taut.analysis.effective import CONFIDENCE, BlockCounts, Support, failure_bound, supports
from taut.core.percentiles import PERCENTILES, SUPPORT, percentile_rank, share_above
from taut.records.documents.figures import Blocks, Doubt, Figures

if TYPE_CHECKING:
    import pyarrow as pa

_SHARES_ABOVE = {name: share_above(name) for name in PERCENTILES}

_TAIL = ("p99", "p99.9", "p99.99")

_PIECE = 1 << 16
"""Values added up at a time: a trial has millions, and sums of them need several arrays."""

MAIN = "main"
WITHOUT_VOID = "without_void"
COLD = "cold"

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Summary:
    """One population of one metric; every value in nanoseconds, None where nothing was seen."""

    n: int
    least: int | None
    mean: float | None
    stdev: float | None
    """The standard deviation of a sample (divided by n - 1)."""
    greatest: int | None
    percentiles: Mapping[str, int | None]
    n_above: Mapping[str, int]
    intervals: Mapping[str, tuple[int | None, int | None]]
    """Empty when not asked for; no upper end: the percentile is at least the lower one."""
    supports: Mapping[str, Support] = field(default_factory=dict)
    """Empty where nobody knows when packets were late: then they are taken as independent."""

    def unsupported(self) -> list[str]:
        """Percentiles with too few packets above them: SUPPORT of them, independent if known."""
        return [p for p in PERCENTILES if not self._is_supported(p)]

    def _is_supported(self, name: str) -> bool:
        if self.n_above[name] < SUPPORT:
            return False
        return name not in self.supports or self.supports[name].is_enough

    def n_eff(self) -> dict[str, int] | None:
        """Independent packets that say as much of each percentile; None where not known."""
        return {name: support.n_eff for name, support in self.supports.items()} or None

    def failed_at_most(self, share_failed: float) -> float | None:
        """Bound the share of packets that fail; None where not known when packets were late.

        Failures are assumed to cluster as late packets do: where there is no failure, nothing
        else shows how they would.
        """
        found = [self.supports[name].n_eff for name in _TAIL if name in self.supports]
        return failure_bound(share_failed, min(found)) if found else None

    def doubt(self) -> Doubt:
        """How far the percentiles are known."""
        blocks = None
        if self.supports:
            blocks = Blocks(
                n=max(support.n_blocks for support in self.supports.values()),
                n_above={name: support.n_blocks_above for name, support in self.supports.items()},
            )
        return Doubt(tuple(self.unsupported()), self.n_above, self.intervals, blocks)

    def figures(self) -> Figures:
        """Its numbers as documents have them; n_eff only where intervals were asked for."""
        return Figures(
            n=self.n,
            n_eff=self.n_eff() if self.intervals else None,
            min_ns=self.least,
            mean_ns=self.mean,
            stdev_ns=self.stdev,
            percentiles_ns=self.percentiles,
            max_ns=self.greatest,
        )


EMPTY = Summary(
    0,
    None,
    None,
    None,
    None,
    dict.fromkeys(PERCENTILES),
    dict.fromkeys(PERCENTILES, 0),
    dict.fromkeys(PERCENTILES, (None, None)),
)


@dataclass(frozen=True)
class Population:
    """Which packets are summarised together; None: packets with and without it, any direction."""

    is_cold: bool
    is_void: bool | None = None
    direction: int | None = None

    def of_blocks(self, blocks: "pa.Table") -> BlockCounts:
        """Take its packets from the counts by block (blocks.py)."""
        chosen = np.ones(blocks.num_rows, np.bool_)
        if self.is_void is not None:
            chosen &= blocks["is_void"].to_numpy() == self.is_void
        if self.direction is not None:
            chosen &= blocks["direction"].to_numpy() == self.direction
        columns = (blocks[name].to_numpy()[chosen] for name in ("block", "value_ns", "n"))
        return BlockCounts(*columns)


def selections(directions: Sequence[int]) -> dict[str, Population]:
    """Name the populations: main and without void packets, cold; each direction if there are two.

    The main figures exclude the declared warm-up and include void packets.
    """
    named = {
        MAIN: Population(is_cold=False),
        WITHOUT_VOID: Population(is_cold=False, is_void=False),
        COLD: Population(is_cold=True),
    }
    if len(directions) > 1:
        for direction in directions:
            named[f"{MAIN}_{direction}"] = Population(False, None, direction)
            named[f"{WITHOUT_VOID}_{direction}"] = Population(False, False, direction)
    return named


def summarise(
    distribution: "pa.Table",
    metric: str,
    populations: Mapping[str, Population],
    *,
    intervals: bool = True,
    blocks: "pa.Table | None" = None,
) -> dict[str, Summary]:
    """Summarise one metric of a table of distributions for each population.

    `blocks` are those of the metric (blocks.py), without the warm-up.
    """
    from taut.analysis.distribution import select_metric

    rows = select_metric(distribution, metric)
    names = ("direction", "is_void", "is_cold", "value_ns", "n")
    column = {name: rows[name].to_numpy() for name in names}
    found = {}
    for name, population in populations.items():
        chosen = column["is_cold"] == population.is_cold
        if population.is_void is not None:
            chosen &= column["is_void"] == population.is_void
        if population.direction is not None:
            chosen &= column["direction"] == population.direction
        values, n = column["value_ns"][chosen], column["n"][chosen]
        counts = None if blocks is None or population.is_cold else population.of_blocks(blocks)
        found[name] = summary_of(values, n, intervals=intervals, blocks=counts)
    return found


def summary_of(
    values: Integers, n: Integers, *, intervals: bool = True, blocks: BlockCounts | None = None
) -> Summary:
    """Summarise one population: each value in any order, and how often it occurred."""
    if (n <= 0).any():  # else no copy: a trial has millions
        values, n = values[n > 0], n[n > 0]
    if not len(values):
        return EMPTY
    if (values[1:] < values[:-1]).any():
        order = np.argsort(values, kind="stable")
        values, n = values[order], n[order]
    upto = np.cumsum(n)
    total = int(upto[-1])
    ranks = {name: percentile_rank(total, of) for name, of in PERCENTILES.items()}

    def value_at(rank: int) -> int:
        return int(values[np.searchsorted(upto, rank)])

    def end_at(rank: int) -> int | None:
        return value_at(rank) if 1 <= rank <= total else None

    percentiles = {name: value_at(rank) for name, rank in ranks.items()}
    rests_on = {} if blocks is None else supports(blocks, percentiles, _SHARES_ABOVE)
    ends = _interval_ranks(total, rests_on) if intervals else {}
    mean, stdev = _moments(values, n, total)
    return Summary(
        n=total,
        least=int(values[0]),
        mean=mean,
        stdev=stdev,
        greatest=int(values[-1]),
        percentiles=percentiles,
        n_above={name: total - rank for name, rank in ranks.items()},
        intervals={name: (end_at(low), end_at(high)) for name, (low, high) in ends.items()},
        supports=rests_on,
    )


def _interval_ranks(n: int, rests_on: Mapping[str, Support]) -> dict[str, tuple[int, int]]:
    """The ranks of each percentile's interval; those outside 1..n have no value."""
    if rests_on:
        ranks = {name: support.interval_ranks for name, support in rests_on.items()}
        return {name: (low, n + 1 if high is None else high) for name, (low, high) in ranks.items()}
    tail = (1 - CONFIDENCE) / 2
    return {
        name: (
            _binomial_quantile(tail, n, over / under),
            _binomial_quantile(1 - tail, n, over / under) + 1,
        )
        for name, (over, under) in PERCENTILES.items()
    }


def _binomial_quantile(probability: float, n: int, share: float) -> int:
    """Give the least k for which at most k of n are of this share with that probability."""
    # scipy.stats, which has it, takes half a second to be imported.
    from scipy.special import betaincc

    return bisect_left(range(n), probability, key=lambda k: float(betaincc(k + 1, n - k, share)))


def _moments(values: Integers, n: Integers, total: int) -> tuple[float, float]:
    """Mean and sample deviation: integers until one correctly rounded division each."""
    least = int(values[0])
    first = second = 0
    for at in range(0, len(values), _PIECE):
        sums = _sums(values[at : at + _PIECE], n[at : at + _PIECE], least, total)
        first, second = first + sums[0], second + sums[1]
    squares = total * second - first * first
    stdev = sqrt(squares / (total * (total - 1))) if total > 1 else 0.0
    return (least * total + first) / total, stdev


def _sums(values: Integers, n: Integers, least: int, total: int) -> tuple[int, int]:
    """The exact sums of distances from the least value, and of their squares."""
    # They fit 64 unsigned bits, whatever the values are.
    distance = values.astype(np.uint64) - np.uint64(least % 2**64)
    small = distance < np.uint64(2**32)
    if total >= 2**32:
        small[:] = False
    near, n_near = distance[small], n[small].astype(np.uint64)
    first, second = _dot(near, n_near), _dot(near * near, n_near)
    for d, count in zip(distance[~small].tolist(), n[~small].tolist(), strict=True):
        first += d * count
        second += d * d * count
    return first, second


def _dot(values: npt.NDArray[np.uint64], n: npt.NDArray[np.uint64]) -> int:
    """The exact sum of values times n, for a sum of n below 2**32: neither half overflows."""
    half = np.uint64(32)
    high, low = values >> half, values & np.uint64(2**32 - 1)
    return (int((high * n).sum()) << 32) + int((low * n).sum())
