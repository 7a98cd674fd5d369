"""How slow a packet is among those around it, as a chance; and how unlikely several such are.

Made for a few packets far apart, each in the middle of its own neighbourhood: a drift puts no
packet at an end of it, as it would the last packet of a fixed block. The share of neighbours that
are at least as slow is, if nothing is special about the packet, at most s with probability s.
Neighbourhoods that do not overlap are independent, and minus the sum of the logs of m such shares
is at most Gamma(m) distributed (Fisher's method).
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from taut.analysis.content.heads import Ints
from taut.analysis.content.tails import Floats, TimeBlocks

MOST_REACH = 2048
"""A packet is held against so many before it and as many after it, fewer in short periods."""


class Ranks:
    """Packets of one or more captures by latency, the slowest (or fastest) first."""

    def __init__(
        self, latency_ns: Ints, blocks: TimeBlocks, captures: Sequence[slice], direction: str
    ) -> None:
        self.direction = direction
        self._cost = latency_ns if direction == "slower" else -latency_ns
        self._captures = captures
        self.rough = np.empty(len(latency_ns))
        """Minus the log of each packet's share among its block: cheap, and good for screening."""
        for first, end in pairwise(blocks.edges):
            cost = self._cost[first:end]
            n_below = np.searchsorted(np.sort(cost), cost, "left")
            self.rough[first:end] = -np.log((end - first - n_below) / (end - first))

    def log_p(self, members: Ints, reach: int) -> float:
        """Give the log of the chance that members are so slow; of those too near one counts."""
        shares = []
        for capture in self._captures:
            of_capture = members[(members >= capture.start) & (members < capture.stop)]
            for at in _thinned(of_capture, 2 * reach + 1):
                first, end = max(at - reach, capture.start), min(at + reach + 1, capture.stop)
                shares.append(np.mean(self._cost[first:end] >= self._cost[at]))
        total = -np.log(shares).sum(keepdims=True)
        return float(log_gamma_tail(total, np.array([len(shares)]))[0])


def _thinned(members: Ints, apart: int) -> list[int]:
    """Leave out, blindly, what is nearer than that to the one kept before it."""
    kept: list[int] = []
    for at in members.tolist():
        if not kept or at - kept[-1] >= apart:
            kept.append(at)
    return kept


def log_gamma_tail(totals: Floats, counts: Ints) -> Floats:
    """Give log P(X >= total) of the sum X of `count` exponentials of mean 1, for each of many."""
    log_p = np.zeros(len(totals))
    for m in np.unique(counts[counts > 0]).tolist():
        of_m = counts == m
        total = np.maximum(totals[of_m], 1e-300)
        # exp(-t) * sum of t^j / j! for j below m, from the greatest term.
        j = np.arange(m)
        log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, m)))])
        terms = j * np.log(total)[:, None] - log_factorial
        greatest = terms.max(axis=1)
        log_p[of_m] = greatest + np.log(np.exp(terms - greatest[:, None]).sum(axis=1)) - total
    return np.minimum(log_p, 0.0)
