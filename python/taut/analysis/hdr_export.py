"""Latency as HdrHistogram's own files, so that other tools can read it.

latency.hgrm is the percentile text, latency.hlog the interval log (one histogram a second), both in
nanoseconds with three significant digits: a value read back is within 0.1 % of the exact one.
Void packets are in, warm-up packets are not, as in the main figures.  This is the only file that
imports the hdrh package.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from io import BytesIO
from math import sqrt
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from hdrh.histogram import HdrHistogram

from taut.analysis.blocks import FINE_BITS, TimeCounts, rounded_down
from taut.analysis.distribution import add_equal

SIGNIFICANT_DIGITS = 3
_INTERVAL_NS = 1_000_000_000
_NO_START = "1970-01-01T00:00:00+00:00"

Counts = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Values and how often each occurred."""


def intervals(counted: TimeCounts) -> dict[int, Counts]:
    """Count the latencies of each second of a trial."""
    starts, values, n = (counted.rows[name].to_numpy() for name in ("start_ns", "value_ns", "n"))
    # The rows are in the order of time.
    numbers, lengths = np.unique(starts // _INTERVAL_NS, return_counts=True)
    ends = np.cumsum(lengths)
    return {
        int(number): _add(None, (values[start:end], n[start:end]))
        for number, start, end in zip(numbers, ends - lengths, ends, strict=True)
    }


def whole(rows: pa.Table) -> dict[int, Counts]:
    """One interval from a distribution, for trials whose packets were not recorded one by one."""
    return {0: _add(None, (rows["value_ns"].to_numpy(), rows["n"].to_numpy()))}


def write_hgrm(path: Path, by_interval: Mapping[int, Counts]) -> None:
    """Write the percentile distribution of the whole trial."""
    total: Counts | None = None
    for counts in by_interval.values():
        total = _add(total, counts)
    text = BytesIO()
    if total is not None:
        _histogram(total).output_percentile_distribution(text, 1.0)
    path.write_bytes(text.getvalue())


def write_hlog(
    path: Path,
    by_interval: Mapping[int, Counts],
    started_utc: str | None,
    *,
    what: str = "service latency",
    interval_ns: int = _INTERVAL_NS,
) -> None:
    """Write the interval log, HdrHistogram V2 encoding; times are seconds from the base time."""
    start = datetime.fromisoformat(started_utc or _NO_START)
    start = start if start.tzinfo else start.replace(tzinfo=UTC)
    seconds = start.timestamp()
    lines = [
        f"#[{what} in nanoseconds, written by taut]",
        "#[Histogram log format version 1.3]",
        f"#[BaseTime: {seconds:.3f} (seconds since epoch)]",
        f"#[StartTime: {seconds:.3f} (seconds since epoch), {start.isoformat()}]",
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
        *_interval_lines(by_interval, interval_ns / 1e9),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def _interval_lines(by_interval: Mapping[int, Counts], length: float) -> Iterable[str]:
    for number in sorted(by_interval):
        histogram = _histogram(by_interval[number])
        payload = histogram.encode().decode("ascii")
        yield f"{number * length:.3f},{length:.3f},{histogram.get_max_value():.3f},{payload}"


def _add(into: Counts | None, counts: Counts) -> Counts:
    values, n = counts
    # HdrHistogram holds no negative values; results.json shows them, and so does a warning there.
    kept = values >= 0
    # Inside a bucket finer than the histogram's, so that few values remain to enter; the extremes
    # survive: four more bits than three significant digits need (2048 sub-buckets).
    values, n = rounded_down(values[kept], FINE_BITS), n[kept]
    if into is not None:
        values, n = np.concatenate([into[0], values]), np.concatenate([into[1], n])
    return add_equal(values, n)


def _histogram(counts: Counts) -> HdrHistogram:
    values, n = counts
    highest = max(int(values[-1]) if len(values) else 0, 2)
    histogram = _Histogram(1, highest, SIGNIFICANT_DIGITS)
    for value, count in zip(values.tolist(), n.tolist(), strict=True):
        histogram.record_value(value, count)
    return histogram


class _Histogram(HdrHistogram):  # type: ignore[misc]  # the package has no types
    """A histogram that has its mean and deviation from the buckets that are not empty.

    The package visits all buckets three times for them, in Python: a tenth of an analysis.
    """

    @cached_property
    def _recorded(self) -> list[tuple[int, int]]:
        """The middle of each bucket that is not empty, and its count; nothing is added later."""
        counts = np.ctypeslib.as_array(self.counts)
        indices = np.flatnonzero(counts)
        values = map(self.get_value_from_index, indices.tolist())
        middles = map(self._hdr_median_equiv_value, values)
        return list(zip(middles, counts[indices].tolist(), strict=True))

    def get_mean_value(self) -> float:
        total = sum(middle * n for middle, n in self._recorded)
        return float(total) / self.total_count if self.total_count else 0.0

    def get_stddev(self) -> float:
        mean = self.get_mean_value()
        squares = sum((middle - mean) * (middle - mean) * n for middle, n in self._recorded)
        return sqrt(squares / self.total_count) if self.total_count else 0.0
