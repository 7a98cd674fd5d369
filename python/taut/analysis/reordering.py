"""How far packets came out of order: extent and n-reordering, after RFC 4737.

Packets are read in the order in which they were received, batch by batch. Of those before a batch
stay the last, for n-reordering, and where the highest number so far did not grow by one: memory
grows with losses and with what is out of order, not with the packets.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from taut.analysis.own_packets import NONE, ROWS, Ints, own_packets

MOST_N = 100
"""n-reordering is counted up to here, as in the RFC's own program (appendix A)."""

_NEVER = np.iinfo(np.int64).max


def _no_ints() -> Ints:
    return np.empty(0, np.int64)


class Reordering(NamedTuple):
    """Of the packets received behind the warm-up, each direction by itself."""

    n_reordered: int
    longest_extent: int | None
    """None: nothing came out of order."""
    n_by_n: tuple[int, ...]
    """How many packets are n-reordered, n from 1; without the zeros at the end."""


def read_reordering(packets: Path, batch_rows: int = ROWS) -> Reordering:
    """Count over the packets of a trial, which lie in the order in which they were received."""
    ways: defaultdict[int, _Way] = defaultdict(_Way)
    for way, seq in _arrivals(packets, batch_rows):
        ways[way].add(seq)
    found = [way.found() for way in ways.values()]
    extents = [one.longest_extent for one in found if one.longest_extent is not None]
    n_most = max((len(one.n_by_n) for one in found), default=0)
    by_n = [sum(one.n_by_n[n] for one in found if n < len(one.n_by_n)) for n in range(n_most)]
    return Reordering(
        sum(one.n_reordered for one in found), max(extents, default=None), tuple(by_n)
    )


@dataclass
class _Way:
    """What is known of one direction's arrivals so far."""

    n: int = 0
    highest: int = -1
    last: Ints = field(default_factory=_no_ints)
    """The last MOST_N numbers."""
    step_at: Ints = field(default_factory=_no_ints)
    """The arrivals at which the highest number so far did not grow by one."""
    step_to: Ints = field(default_factory=_no_ints)
    """What it was then."""
    n_reordered: int = 0
    longest_extent: int | None = None
    n_by_n: Ints = field(default_factory=lambda: np.zeros(MOST_N, np.int64))

    def add(self, seq: Ints) -> None:
        """Count the next arrivals."""
        if not len(seq):
            return
        highest = np.maximum.accumulate(np.append(self.highest, seq))
        steps = np.flatnonzero(
            (np.diff(highest) != 1) | (np.arange(self.n, self.n + len(seq)) == 0)
        )
        self.step_at = np.append(self.step_at, self.n + steps)
        self.step_to = np.append(self.step_to, highest[1 + steps])
        late = np.flatnonzero(seq < highest[1:])
        if len(late):
            extents = self.n + late - self._earliest_above(seq[late])
            self.longest_extent = max(self.longest_extent or 0, int(extents.max()))
            self.n_reordered += len(late)
        around = np.append(self.last, seq)
        for n, found in enumerate(_n_by_n(around, len(self.last) + late)):
            self.n_by_n[n] += found
        self.n, self.highest, self.last = self.n + len(seq), int(highest[-1]), around[-MOST_N:]

    def _earliest_above(self, seq: Ints) -> Ints:
        """Give the earliest arrival of a number above each (4.2.3); there must be one.

        There the highest so far first exceeds it: at a step, or between two, by ones.
        """
        step = np.searchsorted(self.step_to, seq + 1)
        before = np.maximum(step - 1, 0)
        between = self.step_at[before] + seq + 1 - self.step_to[before]
        at_step = np.append(self.step_at, _NEVER)[step]
        return np.where(step == 0, at_step, np.minimum(at_step, between))

    def found(self) -> Reordering:
        """Give what was counted."""
        n_most = int(np.count_nonzero(self.n_by_n))
        return Reordering(
            self.n_reordered, self.longest_extent, tuple(self.n_by_n[:n_most].tolist())
        )


def _n_by_n(seq: Ints, late: Ints) -> Iterator[int]:
    """Give how many packets have n higher numbers right before them, n from 1 (5.3)."""
    for n in range(1, MOST_N + 1):
        late = late[late >= n]
        late = late[seq[late - n] > seq[late]]
        if len(late) == 0:
            return
        yield len(late)


def _arrivals(packets: Path, batch_rows: int) -> Iterator[tuple[int, Ints]]:
    """Give sequence numbers of each direction, in the order of arrival, batch by batch."""
    for seq, direction, received in own_packets(
        packets, ["seq", "direction", "received_ns"], batch_rows
    ):
        for way in np.unique(direction):
            yield int(way), seq[(received != NONE) & (direction == way)]
