"""What explain made of disturbances whose cause is known: recall, precision, and each miss.

An act is what taut inject sent; the gap that overlaps it most is what the poller felt of it.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from taut.analysis.explain.arrays import Ints

# The switch to a thread that preempts comes before that thread can read the clock.
_SLACK_NS = 20_000


@dataclass(frozen=True)
class Confusion:
    """One cause, injected: what its acts were taken for."""

    cause: str
    n_acts: int
    n_unfelt: int
    """Acts no gap of countable length overlaps."""
    verdicts: Mapping[str, int]
    """Of the gaps of the acts that were felt, the most frequent first."""
    n_said: int
    """Gaps with this verdict, whether an act was there or not."""
    n_said_truly: int

    @property
    def n_felt(self) -> int:
        """Acts with a gap that counts."""
        return self.n_acts - self.n_unfelt

    @property
    def recall(self) -> float | None:
        """Of the acts that were felt, the share that got the verdict."""
        return self.verdicts.get(self.cause, 0) / self.n_felt if self.n_felt else None

    @property
    def precision(self) -> float | None:
        """Of the gaps with the verdict, the share in which an act was."""
        return self.n_said_truly / self.n_said if self.n_said else None


def confuse(
    cause: str, act_start_ns: Ints, act_end_ns: Ints, gaps: pa.Table, least_ns: int
) -> Confusion:
    """Match acts with the gaps of the poller they disturbed; shorter gaps do not count."""
    start, end = gaps["start_ns"].to_numpy(), gaps["end_ns"].to_numpy()
    counts = end - start >= least_ns
    start, end = start[counts], end[counts]
    verdict = np.asarray(gaps["cause"].to_pylist(), object)[counts]
    gap = _most_overlapping(act_start_ns - _SLACK_NS, act_end_ns + _SLACK_NS, start, end)
    felt = gap >= 0
    said = np.flatnonzero(verdict == cause)
    true = np.isin(said, _touched(act_start_ns, act_end_ns, start, end))
    return Confusion(
        cause=cause,
        n_acts=len(act_start_ns),
        n_unfelt=int(np.count_nonzero(~felt)),
        verdicts=dict(Counter(verdict[gap[felt]].tolist()).most_common()),
        n_said=len(said),
        n_said_truly=int(np.count_nonzero(true)),
    )


def _most_overlapping(from_ns: Ints, to_ns: Ints, start: Ints, end: Ints) -> Ints:
    """For each act the gap it shares most time with; -1: none. Gaps are sorted and disjoint."""
    found = np.full(len(from_ns), -1)
    first = np.searchsorted(end, from_ns, "right")
    last = np.searchsorted(start, to_ns, "left")
    for act in np.flatnonzero(first < last):
        gaps = np.arange(first[act], last[act])
        shared = np.minimum(end[gaps], to_ns[act]) - np.maximum(start[gaps], from_ns[act])
        found[act] = gaps[np.argmax(shared)]
    return found


def _touched(act_start: Ints, act_end: Ints, start: Ints, end: Ints) -> Ints:
    """Gaps that overlap any act."""
    first = np.searchsorted(end, act_start - _SLACK_NS, "right")
    last = np.searchsorted(start, act_end + _SLACK_NS, "left")
    ranges = [np.arange(a, b) for a, b in zip(first, last, strict=True)]
    return np.unique(np.concatenate(ranges)) if ranges else np.empty(0, np.int64)
