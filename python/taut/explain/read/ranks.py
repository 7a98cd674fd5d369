"""Latencies by rank, exact, in a table of one size however many there are.

A latency's place in the table is the head of its bits as a floating-point number: up to 131 µs each
nanosecond has a place of its own; above, a place is shared by those that differ by less than one
part in 131,072. Where a rank falls on a shared place, a second reading counts in it one by one.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from taut.explain.arrays import Ints

MOST_NS = (1 << 31) - 1
"""Longer latencies count as this one, negative ones as 0."""

_BITS = 17
_OWN = 1 << _BITS
"""Latencies below it have a place each."""
_SHIFT = np.finfo(np.float64).nmant - _BITS


class LatencyTable:
    """How often latencies occurred, by their place."""

    def __init__(self) -> None:
        self._counts = np.zeros(int(_places(np.array([MOST_NS]))[0]) + 1, np.int64)

    def __len__(self) -> int:
        return int(self._counts.sum())

    def add(self, latencies: Ints) -> None:
        """Count some latencies, in ns."""
        np.add.at(self._counts, _places(_clipped(latencies)), 1)

    def at(self, ranks: Sequence[int], again: Callable[[], Iterable[Ints]]) -> list[int]:
        """Give the latency of each rank, the least one's being 1.

        `again` reads all that was added once more; it is called only where a place is shared.
        """
        up_to = np.cumsum(self._counts)
        place = np.searchsorted(up_to, ranks)
        found, width = _least(place), _least(place + 1) - _least(place)
        shared = np.flatnonzero(width > 1).tolist()
        counts = {i: np.zeros(width[i], np.int64) for i in shared}
        for latencies in map(_clipped, again() if shared else ()):
            for i, count in counts.items():
                above = latencies - found[i]
                inside = above[(above >= 0) & (above < len(count))]
                count += np.bincount(inside, minlength=len(count))
        before = up_to[place] - self._counts[place]
        for i, count in counts.items():
            found[i] += np.searchsorted(np.cumsum(count), ranks[i] - before[i])
        values: list[int] = found.tolist()
        return values


def _clipped(latencies: Ints) -> Ints:
    return np.clip(latencies, 0, MOST_NS)


def _places(latencies: Ints) -> Ints:
    bits: Ints = (latencies + _OWN).astype(np.float64).view(np.int64)
    return (bits >> _SHIFT) - _FIRST


def _least(places: Ints) -> Ints:
    """Give the least latency of each place."""
    values: Ints = ((places + _FIRST) << _SHIFT).view(np.float64).astype(np.int64)
    return values - _OWN


_FIRST = int(np.array([_OWN], np.float64).view(np.int64)[0]) >> _SHIFT
