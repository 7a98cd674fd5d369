"""Latency as HdrHistogram's own files, so that other tools can read it.

latency.hgrm is the percentile text, latency.hlog the interval log (one histogram a second, or one
of the whole trial where packets were not recorded), both in nanoseconds with three significant
digits: a value read back is within 0.1 % of the exact one.  Void packets are in, warm-up packets
are not, as in the main figures.  This is the only file that imports the hdrh package.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cached_property, reduce
from io import BytesIO
from itertools import chain
from math import sqrt
from pathlib import Path

import numpy as np
import pyarrow as pa
from hdrh.histogram import HdrHistogram

from taut.analysis.blocks import KEPT_BITS, NO_COUNTS, Counts, few, together
from taut.core import files

SIGNIFICANT_DIGITS = 3
_INTERVAL_NS = 1_000_000_000


def whole(rows: pa.Table) -> dict[int, Counts]:
    """One interval from a distribution, for trials whose packets were not recorded one by one."""
    return {0: few(rows["value_ns"].to_numpy(), rows["n"].to_numpy())}


def write_both(
    stem: Path,
    by_interval: Mapping[int, Counts],
    base: datetime | None,
    *,
    what: str = "service latency",
    interval_ns: tuple[int, int] | None = None,
) -> None:
    """Write STEM.hgrm and STEM.hlog."""
    write_hgrm(stem.with_name(f"{stem.name}.hgrm"), by_interval)
    log = stem.with_name(f"{stem.name}.hlog")
    write_hlog(log, by_interval, base, what=what, interval_ns=interval_ns)


def write_hgrm(path: Path, by_interval: Mapping[int, Counts]) -> None:
    """Write the percentile distribution of the whole trial."""
    text = BytesIO()
    if by_interval:
        total = reduce(_added, by_interval.values(), NO_COUNTS)
        _histogram(total).output_percentile_distribution(text, 1.0)
    with files.whole(path) as temporary:
        temporary.write_bytes(text.getvalue())


def write_hlog(
    path: Path,
    by_interval: Mapping[int, Counts],
    base: datetime | None,
    *,
    what: str,
    interval_ns: tuple[int, int] | None,
) -> None:
    """Write the interval log, HdrHistogram V2 encoding; times are seconds from the base time.

    `base`: when time 0 was; None: nobody knows, so the log has none.
    `interval_ns`: when the first one starts, and how long each is; None: at 0, and a second.
    """
    times: tuple[str, ...] = ()
    if base is not None:
        seconds = f"{base.timestamp():.3f} (seconds since epoch)"
        times = f"#[BaseTime: {seconds}]", f"#[StartTime: {seconds}, {base.isoformat()}]"
    head = (
        f"#[{what} in nanoseconds, written by taut]",
        "#[Histogram log format version 1.3]",
        *times,
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
    )
    with files.whole(path) as temporary, temporary.open("w", encoding="ascii") as log:
        for line in chain(head, _interval_lines(by_interval, *(interval_ns or (0, _INTERVAL_NS)))):
            log.write(f"{line}\n")


def _interval_lines(
    by_interval: Mapping[int, Counts], first_ns: int, length_ns: int
) -> Iterable[str]:
    for number in sorted(by_interval):
        histogram = _histogram(by_interval[number])
        payload = histogram.encode().decode("ascii")
        start, length = (first_ns + number * length_ns) / 1e9, length_ns / 1e9
        yield f"{start:.3f},{length:.3f},{histogram.get_max_value():.3f},{payload}"


def _added(into: Counts, counts: Counts) -> Counts:
    return few(*together(into, counts))


def _histogram(counts: Counts) -> HdrHistogram:
    values, n = counts
    highest = max(int(values[-1]) if len(values) else 0, 2)
    histogram = _Histogram(1, highest, SIGNIFICANT_DIGITS)
    if len(values):
        # What its record_value does for each value, and takes a second for.
        shift = np.maximum(np.frexp(values)[1] - KEPT_BITS, 0)
        buckets = shift * histogram.sub_bucket_half_count + (values >> shift)
        np.add.at(np.ctypeslib.as_array(histogram.counts), buckets, n.astype(np.uint64))
        histogram.total_count = int(n.sum())
        histogram.min_value, histogram.max_value = int(values[0]), int(values[-1])
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
