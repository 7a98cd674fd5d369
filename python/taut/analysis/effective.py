"""How many independent packets a percentile rests on, where packets are late together.

A stall of 1 ms at 100 kpkt/s makes a hundred packets late, and they are one witness, not a hundred.
Time is cut into blocks much longer than an episode, so that blocks, unlike packets, know nothing of
each other.  Independent packets above a percentile would vary from block to block as a binomial
number does; that they vary D times as much says that n packets are worth n / D:

    D     = variance of the packets above it, over blocks / (packets of a block x p x (1 - p))
    n_eff = n / D x (1.96 / t)^2      t: of Student's distribution, for the number of blocks

never above n.  Where neighbours are alike, because a machine kept its ways for longer than a block,
their covariance is added to the variance (the estimator of Newey & West 1987 with one lag); where
they are not, nothing is taken off.  The second factor pays for D being estimated (Heidelberger &
Lewis 1984 treat runs of a simulation so).  The interval holds every latency that may be the
percentile: above it there are neither too many nor too few packets for that, as n_eff independent
ones would be judged.  D is taken at that latency, or where it is worst between there and the
percentile: packets just above p99 may be single ones while further up there are only stalls, and
then few of those decide.

Where late packets lie in few blocks nobody can tell how much they vary: with fewer than
LEAST_ABOVE blocks that hold one, or where the slowest packet may still be the percentile, it is
only known to be at least so large.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

LEAST_ABOVE = 10

LEAST_OF_MANY = 24
"""Of twice as many rows of a soak, and more, neighbours are put together to so many blocks."""

CONFIDENCE = 0.95

_TAIL = (1 - CONFIDENCE) / 2
_STEPS_PER_DECADE = 50


@dataclass(frozen=True)
class BlockCounts:
    """Packets of one population by block of time: in each row a block, a latency and how many."""

    block: Integers
    values: Integers
    n: Integers


@dataclass(frozen=True)
class Support:
    """What one percentile rests on."""

    n_eff: int
    """Independent packets that say as much of it as all the packets do."""
    n_blocks: int
    n_blocks_above: int
    """Blocks that hold a packet as slow as the percentile."""
    n_eff_above: float
    """Of n_eff, how many lie above the percentile."""
    interval_ranks: tuple[int, int | None]
    """Ranks, from 1, of the packets at the ends of its interval; 0 and None: an end is unknown."""

    @property
    def is_enough(self) -> bool:
        """Whether it says more about the path than about luck."""
        return self.n_blocks_above >= LEAST_ABOVE and self.n_eff_above >= LEAST_ABOVE


def supports(
    counts: BlockCounts, values: Mapping[str, int], shares_above: Mapping[str, float]
) -> dict[str, Support]:
    """Give the support of each percentile; values in ns, shares of packets above it 0 to 1."""
    levels = _Levels.of(counts)
    return {name: _support(levels, value, shares_above[name]) for name, value in values.items()}


@dataclass(frozen=True)
class _Levels:
    """Every latency that occurs, rounded down, and what lies at it or above."""

    values: Integers
    n_at_least: Integers
    blocks_at_least: Integers
    """Blocks that hold a packet of this latency or more."""
    times: Reals
    """D: how many times more the number of such packets varies than independent ones would."""
    n_blocks: int

    @classmethod
    def of(cls, counts: BlockCounts) -> "_Levels":
        """Count packets and blocks at each latency or above, from the slowest down."""
        occurs = counts.n > 0
        n = counts.n[occurs]
        blocks, block = np.unique(counts.block[occurs], return_inverse=True)
        values, level = np.unique(counts.values[occurs], return_inverse=True)
        per_level = np.zeros(len(values), np.int64)
        np.add.at(per_level, level, n)
        n_at_least = np.cumsum(per_level[::-1])[::-1]
        slowest = np.zeros(len(blocks), np.int64)
        np.maximum.at(slowest, block, level)
        with_one = np.bincount(slowest, minlength=len(values))
        blocks_at_least = np.cumsum(with_one[::-1])[::-1]
        times = _times_as_much(block, level, n, n_at_least)
        # A single packet at the top varies like an independent one, whatever stall it was in.
        last = max(0, int(np.count_nonzero(blocks_at_least >= LEAST_ABOVE)) - 1)
        times[last:] = np.maximum.accumulate(times[last:])
        return cls(values, n_at_least, blocks_at_least, times, len(blocks))


def _times_as_much(block: Integers, level: Integers, n: Integers, n_at_least: Integers) -> Reals:
    """Give D of every level: computed at some levels, interpolated between them."""
    n_blocks, total = int(block.max()) + 1, int(n_at_least[0])
    if n_blocks < 2:
        return np.ones(len(n_at_least))
    steps = np.floor(np.log10(total / n_at_least) * _STEPS_PER_DECADE)
    chosen = np.flatnonzero(np.diff(steps, prepend=-1))
    piece = np.searchsorted(chosen, level, side="right") - 1
    table = np.zeros((n_blocks, len(chosen)), np.int64)
    np.add.at(table, (block, piece), n)
    at_least = np.cumsum(table[:, ::-1], axis=1)[:, ::-1]
    share = at_least.sum(axis=0) / total
    beyond = at_least - np.outer(at_least[:, 0], share)
    expected = np.maximum(share * (1 - share), 1 / total) * total / n_blocks
    alike = (beyond[1:] * beyond[:-1]).sum(axis=0)
    times = ((beyond**2).sum(axis=0) + np.maximum(alike, 0)) / (n_blocks - 1) / expected
    found: Reals = np.interp(np.arange(len(n_at_least)), chosen, times)
    return found


def _support(levels: _Levels, value: int, share_above: float) -> Support:
    own = max(0, int(np.searchsorted(levels.values, value, side="right")) - 1)
    n = int(levels.n_at_least[0])
    worth = np.minimum(1, paid_for_estimating(levels.n_blocks) / np.maximum(levels.times, 1e-9))
    n_eff = max(1, int(n * worth[own]))
    n_blocks_above = int(levels.blocks_at_least[own])
    return Support(
        n_eff=n_eff,
        n_blocks=levels.n_blocks,
        n_blocks_above=n_blocks_above,
        n_eff_above=n * worth[own] * share_above,
        interval_ranks=(
            _low_rank(levels, worth, own, share_above),
            _high_rank(levels, worth, own, share_above) if n_blocks_above >= LEAST_ABOVE else None,
        ),
    )


def _low_rank(levels: _Levels, worth: Reals, own: int, share_above: float) -> int:
    """The least level above which there are not too many packets for it to be the percentile."""
    n = int(levels.n_at_least[0])
    above = np.append(levels.n_at_least[1:], 0)[: own + 1]
    # Judged with the least number of independent packets between that level and the percentile.
    n_eff = n * np.minimum.accumulate(worth[own::-1])[::-1]
    is_possible = _at_least(above * n_eff / n, n_eff, share_above) > _TAIL
    lowest = int(np.argmax(is_possible)) if is_possible.any() else own
    # All packets may be slower than it.
    if lowest == 0 and share_above ** float(n_eff[0]) > _TAIL:
        return 0
    return n - int(levels.n_at_least[lowest]) + 1


def _high_rank(levels: _Levels, worth: Reals, own: int, share_above: float) -> int | None:
    """The greatest level above which there are not too few packets for it to be the percentile."""
    n = int(levels.n_at_least[0])
    at_least = levels.n_at_least[own:]
    n_eff = n * np.minimum.accumulate(worth[own:])
    is_possible = _at_most(at_least * n_eff / n, n_eff, share_above) > _TAIL
    highest = own + int(np.flatnonzero(is_possible)[-1]) if is_possible.any() else own
    if highest + 1 == len(levels.values):
        # None if even having no slower packet at all would not be improbable.
        is_bounded = highest == own and (1 - share_above) ** float(n_eff[-1]) <= _TAIL
        return n if is_bounded else None
    return n - int(levels.n_at_least[highest + 1])


def _at_most(x: Reals, n: Reals, share: float) -> Reals:
    """Give the probability that at most x, not always whole, of n packets are of this share."""
    from scipy.special import betainc

    found: Reals = betainc(np.maximum(n - x, 1e-9), x + 1, 1 - share)
    return found


def _at_least(x: Reals, n: Reals, share: float) -> Reals:
    """Give the probability that at least x of n packets are of this share."""
    from scipy.special import betainc

    found: Reals = betainc(np.maximum(x, 1e-9), np.maximum(n - x, 0) + 1, share)
    return found


def rows_a_block(n_rows: int) -> int:
    """Give how many neighbouring rows of a soak are a block, so that there are 24 to 48 of many."""
    return max(1, n_rows // LEAST_OF_MANY)


def paid_for_estimating(n_blocks: int) -> float:
    """Give the second factor of n_eff: the normal quantile over Student's, squared."""
    from scipy.special import ndtri, stdtrit

    if n_blocks < 2:
        return 0.0
    quantile = (1 + CONFIDENCE) / 2
    return float((ndtri(quantile) / stdtrit(n_blocks - 1, quantile)) ** 2)


def failure_bound(share_failed: float, n_eff: int) -> float:
    """Give the share of failures that is not exceeded, with 95 % confidence (Clopper & Pearson).

    Without a failure it is 3 / n_eff.
    """
    from scipy.special import betaincinv

    failed = share_failed * n_eff
    return 1.0 if failed >= n_eff else float(betaincinv(failed + 1, n_eff - failed, CONFIDENCE))
