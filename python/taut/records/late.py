"""Packets later than a time, from the histogram that every trial has."""

from pathlib import Path
from typing import NamedTuple

import pyarrow.compute as pc

from taut.records import parquet


class Late(NamedTuple):
    """Packets that came back, without the warm-up and those the generator was late with."""

    n: int
    n_late: int


def count_late(histogram: Path, within_ns: int) -> Late:
    """Count packets whose service latency is above `within_ns`.

    A bucket that only partly lies above counts as late: buckets are a nanosecond wide up
    to some 26 µs, and 6e-5 of their value above (dataplane/base/histogram.h).
    """
    wanted = [("series", "=", "service"), ("is_cold", "=", False), ("is_void", "=", False)]
    columns = ["value_ns", "width_ns", "n"]
    rows = parquet.read_table(histogram, columns=columns, filters=wanted)
    # The greatest value of a bucket is one below the next.
    is_late = pc.greater(pc.add(rows["value_ns"], rows["width_ns"]), within_ns + 1)
    n_late = pc.sum(rows["n"].filter(is_late)).as_py() or 0
    return Late(pc.sum(rows["n"]).as_py() or 0, n_late)
