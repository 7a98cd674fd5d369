"""Packets that came back too late, and those that the generator was late with, from a histogram.

Every trial has one, whatever was recorded of it.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
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
    rows = _came_back(histogram, is_void=False)
    # The greatest value of a bucket is one below the next.
    is_late = pc.greater(pc.add(rows["value_ns"], rows["width_ns"]), within_ns + 1)
    n_late = pc.sum(rows["n"].filter(is_late)).as_py() or 0
    return Late(pc.sum(rows["n"]).as_py() or 0, n_late)


def greatest_ns(histogram: Path, latencies_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Give the greatest latency of the bucket that each of these is in."""
    rows = parquet.read_table(histogram, ["value_ns", "width_ns"], [("series", "=", "service")])
    least, at = np.unique(rows["value_ns"].to_numpy(), return_index=True)
    greatest: npt.NDArray[np.int64] = least + rows["width_ns"].to_numpy()[at] - 1
    return greatest[np.searchsorted(least, latencies_ns, side="right") - 1]


def count_on_time(histogram: Path) -> int:
    """Count packets that came back and that the generator was on time with, after the warm-up."""
    return pc.sum(_came_back(histogram, is_void=False)["n"]).as_py() or 0


def count_void(histogram: Path) -> int:
    """Count packets that came back and that the generator was late with, without the warm-up."""
    return pc.sum(_came_back(histogram, is_void=True)["n"]).as_py() or 0


def _came_back(histogram: Path, *, is_void: bool) -> pa.Table:
    wanted = [("series", "=", "service"), ("is_cold", "=", False), ("is_void", "=", is_void)]
    return parquet.read_table(histogram, ["value_ns", "width_ns", "n"], wanted)
