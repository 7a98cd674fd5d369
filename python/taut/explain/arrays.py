"""Types of the arrays, and operations on arrays that several files need."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[Any]

AFTER_ALL, BEFORE_ALL = np.iinfo(np.int64).max, np.iinfo(np.int64).min
"""Later, and earlier, than any time of a trial."""


def at_or(values: Numbers, at: Ints, otherwise: int | Ints) -> Numbers:
    """Give the value at each position; `otherwise` where that is -1, or where there are no values.

    A single `otherwise` takes on the type of the values, and has to fit into it.
    """
    if not len(values):
        values, at = np.zeros(1, values.dtype), np.full(len(at), -1)
    return np.where(at >= 0, values[np.maximum(at, 0)], otherwise)


def interval_holding(start: Ints, end: Ints, times: Ints) -> Ints:
    """Give the index of the interval that holds each time, -1: none.

    Intervals are in order and do not overlap.
    """
    at = np.searchsorted(start, times, "right") - 1
    return np.where(times < at_or(end, at, BEFORE_ALL), at, -1)


def is_in_order(values: Ints) -> bool:
    """Whether no value is less than the one before it; to see that costs a fraction of sorting."""
    return bool(np.all(values[1:] >= values[:-1]))


def in_order(values: Ints) -> Ints:
    """Give the values in order: themselves, where they are in order already."""
    return values if is_in_order(values) else np.sort(values)


def last_marked(marked: Mask) -> Ints:
    """Give for each position the nearest marked one at or before it, -1 where there is none."""
    at = np.where(marked, np.arange(len(marked)), -1)
    return np.maximum.accumulate(at) if len(at) else at


def joined(parts: Sequence[object]) -> dict[str, Any]:
    """Join, column by column, the arrays of equal records."""
    names = [name for name, value in vars(parts[0]).items() if isinstance(value, np.ndarray)]
    return {name: np.concatenate([vars(part)[name] for part in parts]) for name in names}


class RangeMaximum:
    """Where the greatest of `values[low:high]` is, for many ranges at once (a sparse table)."""

    def __init__(self, values: Ints) -> None:
        self._values = values
        self._levels: list[npt.NDArray[np.int32]] = [np.arange(len(values), dtype=np.int32)]
        width = 1
        while 2 * width <= len(values):
            below = self._levels[-1]
            left, right = below[:-width], below[width:]
            self._levels.append(np.where(values[right] > values[left], right, left))
            width *= 2

    def at(self, low: Ints, high: Ints) -> Ints:
        """Give the first index of the greatest value of each range; no range may be empty."""
        level = np.frexp((high - low).astype(np.float64))[1] - 1
        found = np.empty(len(low), np.int64)
        for k in np.unique(level):
            own = level == k
            left = self._levels[k][low[own]]
            right = self._levels[k][high[own] - (1 << int(k))]
            found[own] = np.where(self._values[right] > self._values[left], right, left)
        return found
