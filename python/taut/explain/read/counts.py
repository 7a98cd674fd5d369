"""How often whole numbers occurred, for ranks among more of them than memory holds."""

import numpy as np

from taut.explain.arrays import Ints, Numbers


class Counts:
    """Whole numbers with how often each occurred: as long as there are different ones."""

    def __init__(self) -> None:
        self._values = self._counts = np.empty(0, np.int64)

    def __len__(self) -> int:
        return int(self._counts.sum())

    def add(self, values: Numbers) -> None:
        self._merge(*np.unique(values, return_counts=True))

    def add_all(self, other: "Counts") -> None:
        """Count what another has counted."""
        self._merge(other._values, other._counts)

    def at(self, rank: int) -> int:
        """Give the value of a rank, the least one's being 1."""
        return int(self._values[np.searchsorted(np.cumsum(self._counts), rank)])

    def _merge(self, values: Numbers, counts: Ints) -> None:
        both = np.concatenate([self._values, values.astype(np.int64, copy=False)])
        of_both = np.concatenate([self._counts, counts])
        self._values, index = np.unique(both, return_inverse=True)
        self._counts = np.zeros(len(self._values), np.int64)
        np.add.at(self._counts, index, of_both)
