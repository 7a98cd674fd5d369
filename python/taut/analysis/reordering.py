"""How far packets came out of order: extent and n-reordering, after RFC 4737."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from taut.records.layout import EXTRA_RECORD, PacketFlag

MOST_N = 100
"""n-reordering is counted up to here, as in the RFC's own program (appendix A)."""

_COLUMNS = ["seq", "direction", "received_ns", "flags"]

Ints = npt.NDArray[np.int64]


class Reordering(NamedTuple):
    """Of the packets received behind the warm-up, each direction by itself."""

    n_reordered: int
    longest_extent: int | None
    """None: nothing came out of order."""
    n_by_n: tuple[int, ...]
    """How many packets are n-reordered, n from 1; without the zeros at the end."""


def read_reordering(packets: Path) -> Reordering:
    """Count over the packets of a trial, which lie in the order in which they were received."""
    found = [reordering_of(seq) for seq in _arrivals(packets)]
    extents = [one.longest_extent for one in found if one.longest_extent is not None]
    n_most = max((len(one.n_by_n) for one in found), default=0)
    by_n = [sum(one.n_by_n[n] for one in found if n < len(one.n_by_n)) for n in range(n_most)]
    return Reordering(
        sum(one.n_reordered for one in found), max(extents, default=None), tuple(by_n)
    )


def reordering_of(seq: Ints) -> Reordering:
    """Count over sequence numbers in the order of arrival."""
    if len(seq) == 0:
        return Reordering(0, None, ())
    highest = np.maximum.accumulate(seq)
    late = np.flatnonzero(seq < highest)
    if len(late) == 0:
        return Reordering(0, None, ())
    # The earliest arrival of a higher number: there the highest so far first exceeds it (4.2.3).
    earliest = np.searchsorted(highest, seq[late], side="right")
    return Reordering(
        len(late), int(np.max(late - earliest)), tuple(_n_by_n(seq, late, min(MOST_N, len(seq))))
    )


def _n_by_n(seq: Ints, late: Ints, most: int) -> Iterator[int]:
    """Give how many packets have n higher numbers right before them, n from 1 (5.3)."""
    for n in range(1, most + 1):
        late = late[late >= n]
        late = late[seq[late - n] > seq[late]]
        if len(late) == 0:
            return
        yield len(late)


def _arrivals(packets: Path) -> Iterator[Ints]:
    """Give the sequence numbers of each direction, in the order of arrival."""
    table = pq.read_table(packets, columns=_COLUMNS)
    direction = table["direction"].to_numpy()
    left_out = int(EXTRA_RECORD | PacketFlag.COLD)
    is_back = table["received_ns"].is_valid().to_numpy()
    is_counted = is_back & (table["flags"].to_numpy() & left_out == 0)
    seq = table["seq"].to_numpy().astype(np.int64)
    for way in np.unique(direction):
        yield seq[is_counted & (direction == way)]
