"""Who is slow against the packets around it, and how unlikely it is that a class is.

Packets are cut into blocks of neighbours in time, 64 to 4096 of them, and judged by their latency
less the median of their block. A tail of depth k is the k packets slowest (or fastest) by that
measure. For a class, block b of n packets gives m of the class, k of the tail and some of both.
Two tests use nothing but what happens inside blocks, and count a block once:

- *blocks hit*: a block is hit if a packet of the class is in the tail. If content and latency have
  nothing to do with each other inside the block, this happens with probability at most that of m
  draws without replacement (less, if the class or the tail come in runs). The number of blocks hit
  is then a sum of independent trials; its upper tail is bounded by Chernoff, which for all blocks
  hit is the exact product. Made for few packets: 4 in 4 blocks have p of about (1/4096)^4.
- *excess per block*: packets of the class in the tail less the expected m*k/n, summed over blocks
  and divided by the root of the sum of squares. For block sums that are symmetric, or skewed
  upwards (m and k not much above n/2), exp(-z^2/2) bounds the upper tail whatever the shape or the
  dependence inside a block. Made for large classes, which hit every block anyway.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from taut.analysis.content.heads import Ints
from taut.analysis.content.layers import Mask

Floats = npt.NDArray[np.float64]

_MIN_BLOCK, _MAX_BLOCK, _WANTED_BLOCKS = 64, 4096, 64
_DEEPEST = 4  # the deepest tail is 1 / 4 of all
# Of n packets. The bound of the excess, exp(-1/2) = 0.607 for a block that can only be hit or
# missed, holds up to here; what is larger is told by the packets that are not of it.
LARGEST_CLASS = 0.6


class TimeBlocks:
    """Runs of neighbouring packets; `residual` is latency less the median of its block."""

    def __init__(self, latency_ns: Ints, captures: Sequence[slice] | None = None) -> None:
        n = len(latency_ns)
        self.edges = _block_edges(captures or [slice(0, n)], n)
        """Where each block starts, and where the last one ends."""
        self.n_blocks = len(self.edges) - 1
        self.of_packet = np.repeat(np.arange(self.n_blocks), np.diff(self.edges))
        self.residual = np.empty(n, np.int64)
        for first, end in pairwise(self.edges):
            latencies = latency_ns[first:end]
            middle = np.partition(latencies, (len(latencies) - 1) // 2)[(len(latencies) - 1) // 2]
            self.residual[first:end] = latencies - middle

    def count(self, packets: Mask | Ints) -> Ints:
        """Count the given packets (a mask, or indices) in each block."""
        return np.bincount(self.of_packet[packets], minlength=self.n_blocks)


def _block_edges(captures: Sequence[slice], n: int) -> list[int]:
    """Blocks of one size; none holds packets of two captures."""
    size = min(max(n // _WANTED_BLOCKS, _MIN_BLOCK), _MAX_BLOCK)
    edges = []
    for capture in captures:
        # What does not fill a block belongs to the last one of its capture.
        n_blocks = max((capture.stop - capture.start) // size, 1)
        edges += [capture.start + i * size for i in range(n_blocks)]
    return [*edges, n]


class Tail:
    """The packets on one side of the distribution, most extreme first, cut at several depths."""

    def __init__(self, blocks: TimeBlocks, direction: str) -> None:
        self.direction = direction
        extremity = blocks.residual if direction == "slower" else -blocks.residual
        n = len(extremity)
        deepest = max(n // _DEEPEST, 1)
        by_extremity = np.argsort(-extremity, kind="stable")
        ordered = extremity[by_extremity]
        depths = set()
        for depth in _grid(deepest):
            # Equal latencies are not told apart: all of them belong to the tail.
            end = int(np.searchsorted(-ordered, -ordered[depth - 1], "right"))
            if end <= deepest:
                depths.add(end)
        self.depths = np.array(sorted(depths), np.int64)
        self.rows = by_extremity[: int(self.depths[-1]) if depths else 0]
        self.row_depth = np.searchsorted(self.depths, np.arange(len(self.rows)), "right")
        """For each row the first depth that holds it."""
        self.packet_depth = np.full(n, len(self.depths), np.int16)
        self.packet_depth[self.rows] = self.row_depth

    def holds(self, depth: int) -> Mask:
        """Mark the packets of the tail of that depth."""
        return self.packet_depth <= depth


def _grid(deepest: int) -> list[int]:
    depths = []
    depth = 4
    while depth <= deepest:
        depths.append(depth)
        depth *= 4
    return depths


@dataclass(frozen=True)
class Evidence:
    """The least likely of a class's tails, before any correction."""

    log_p: float
    depth: int
    direction: str


NO_EVIDENCE = Evidence(0.0, 0, "slower")


class Witnesses:
    """Tails and blocks of the packets still in question (without those already explained)."""

    def __init__(self, blocks: TimeBlocks, tails: tuple[Tail, ...], alive: Mask) -> None:
        self.blocks = blocks
        self.tails = tails
        self.alive = alive
        self._n = blocks.count(alive)
        self._k = [self._in_tail(tail, np.flatnonzero(alive[tail.rows]), True) for tail in tails]

    def _in_tail(self, tail: Tail, of: Ints, of_rows: bool) -> Ints:
        """Packets in the tail: one row a depth, one column a block."""
        n_blocks, n_depths = self.blocks.n_blocks, len(tail.depths)
        packets = tail.rows[of] if of_rows else of
        depth = tail.row_depth[of] if of_rows else tail.packet_depth[of].astype(np.int64)
        cell = depth * n_blocks + self.blocks.of_packet[packets]
        counts = np.bincount(cell, minlength=n_depths * n_blocks)[: n_depths * n_blocks]
        return np.cumsum(counts.reshape(n_depths, n_blocks), axis=0)

    def judge(self, members: Ints) -> Evidence:
        """Find the tail in which a class stands out most."""
        members = members[self.alive[members]]
        best = NO_EVIDENCE
        m = self.blocks.count(members)
        for tail, k in zip(self.tails, self._k, strict=True):
            hits = self._in_tail(tail, members, False)
            for depth in range(len(tail.depths)):
                log_p = min(
                    _blocks_hit(hits[depth] > 0, m, k[depth], self._n),
                    _excess(hits[depth], m, k[depth], self._n),
                )
                if log_p < best.log_p:
                    best = Evidence(log_p, depth, tail.direction)
        return best


def _blocks_hit(is_hit: Mask, m: Ints, k: Ints, n: Ints) -> float:
    n_hit = int(is_hit.sum())
    if n_hit < 2:
        return 0.0
    can = (m > 0) & (k > 0)
    return log_upper_tail(hit_probability(m[can], k[can], n[can]), n_hit)


def hit_probability(m: Ints, k: Ints, n: Ints) -> Floats:
    """Chance that m of n packets, drawn blindly, hold at least one of the k in the tail."""
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, int(n.max()) + 1)))])
    rest = n - m - k
    log_miss = (
        log_factorial[n - m]
        + log_factorial[n - k]
        - log_factorial[n]
        - log_factorial[np.maximum(rest, 0)]
    )
    return np.where(rest < 0, 1.0, -np.expm1(np.minimum(log_miss, 0.0)))


def log_upper_tail(p: Floats, n_hit: int) -> float:
    """Bound the log of the chance that at least n_hit of independent trials succeed (Chernoff)."""
    if n_hit >= len(p):
        return float(np.log(p).sum())
    if n_hit <= p.sum():
        return 0.0
    low, high = 0.0, 60.0
    for _ in range(50):
        t = (low + high) / 2
        grown = p * np.exp(t)
        is_low = (grown / (1 - p + grown)).sum() < n_hit
        low, high = (t, high) if is_low else (low, t)
    return float(np.log1p(p * np.expm1(low)).sum() - low * n_hit)


def _excess(hits: Ints, m: Ints, k: Ints, n: Ints) -> float:
    fit = (m > 0) & (m <= LARGEST_CLASS * n) & (k <= LARGEST_CLASS * n)
    excess = hits[fit] - m[fit] * k[fit] / n[fit]
    total, squares = float(excess.sum()), float((excess**2).sum())
    return -(total**2) / (2 * squares) if total > 0 else 0.0
