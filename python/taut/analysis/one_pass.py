"""A trial counted by taut-count in one pass over its packets: the numbers an engine gives.

An engine sorts the packets for each metric that looks from one to the next; a pass has them in
order as it reads.  What it cannot count exactly that way, damaged records above all, it refuses,
and an engine counts it (docs/adr/0014).
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from taut.analysis import blocks, distribution, worst
from taut.analysis.blocks import TimeCounts
from taut.analysis.distribution import Counts, Measured
from taut.analysis.episode import EPISODE_SCHEMA, Threshold, with_gaps
from taut.analysis.metrics import METRICS
from taut.binaries import count
from taut.core.binaries import find_binary_or_none
from taut.records.clock import fit_of
from taut.records.documents.count import (
    COUNT_FILE,
    EPISODES_FILE,
    CountDocument,
    EpisodesDocument,
    GroupCounts,
)
from taut.records.documents.json_form import read_document
from taut.records.documents.results import Episodes
from taut.records.layout import SERIES, PacketFlag, RecordKind
from taut.records.raw_file import Records, open_raw
from taut.records.restore import NotForOnePassError, likely_median_ns, restored
from taut.storage.engine import Engine


@dataclass(frozen=True)
class OnePass:
    """What one pass over a trial found."""

    packets: Path
    late: "_LatePackets"
    distribution: pa.Table
    """The metrics that are not derived from others."""
    not_exact: str | None
    """As Measured has it."""
    counts: Counts
    times: TimeCounts
    worst: pa.Table

    def measured(self, engine: Engine) -> Measured:
        """Give every metric; the engine computes those that are derived."""
        table = distribution.derive(engine, self.distribution)
        return Measured(table, self.counts, self.not_exact)

    def episodes(self, engine: Engine, gaps: Path | None, threshold_ns: int) -> Episodes:
        """Find the episodes among late packets; the engine joins the longest with logged gaps."""
        late: Iterable[Records] | None = self.late.above(threshold_ns)
        if late is None:
            late = restored(self.packets, threshold_ns)
        with _folder() as folder:
            count.count(late, folder, late_above_ns=threshold_ns)
            found = read_document(EpisodesDocument, folder / EPISODES_FILE)
        longest = pa.Table.from_pylist([dict(row) for row in found.worst], EPISODE_SCHEMA)
        return with_gaps(engine, gaps, threshold_ns, found.totals, longest)


def count_in_one_pass(packets: Path, n_flows: int, threshold: Threshold) -> OnePass | None:
    """Count the packets of packets.parquet; None where an engine has to do it.

    That is where taut-count is not built, or one pass cannot count these packets. Episodes of
    packets above the threshold are found faster than others.
    """
    if find_binary_or_none(count.PROGRAM) is None:
        return None
    late = _LatePackets(threshold.at(likely_median_ns(packets)) // 2)
    with _folder() as folder:
        try:
            count.count(late.noted(restored(packets)), folder, n_flows=n_flows)
        except NotForOnePassError:
            return None
        return _read(packets, late, folder)


class _LatePackets:
    """Records that took longer than `above_ns` or did not come, noted as they pass by.

    Some that did neither are among them; taut-count knows which. There is a limit to their number.
    """

    _MOST = 1 << 19

    def __init__(self, above_ns: int) -> None:
        self._above_ns = above_ns
        self._parts: list[Records] | None = []
        self._n = 0

    def noted(self, parts: Iterable[Records]) -> Iterator[Records]:
        """Give the parts as they are."""
        for records in parts:
            if self._parts is not None:
                # What was not received has a time of 0: the difference is less than nothing.
                took = (records["received_tsc"] - records["sent_tsc"]).view(np.int64)
                chosen = records[(took > self._above_ns) | (records["received_tsc"] == 0)]
                self._parts.append(chosen)
                self._n += len(chosen)
                if self._n > self._MOST:
                    self._parts = None
            yield records

    def above(self, threshold_ns: int) -> Sequence[Records] | None:
        """Give them if all packets that took longer than the threshold are among them."""
        return self._parts if threshold_ns >= self._above_ns else None


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="taut-count-") as folder:
        yield Path(folder)


def _read(packets: Path, late: _LatePackets, folder: Path) -> OnePass:
    document = read_document(CountDocument, folder / COUNT_FILE)
    values, not_exact = _distributions(folder / count.HISTOGRAMS)
    columns = ("start_ns", "direction", "is_void", "value_ns", "n")
    times = open_raw(folder / count.TIMES, RecordKind.TIME_COUNT)
    return OnePass(
        packets,
        late,
        values,
        _not_exact_words(not_exact, document) if not_exact else None,
        _counts((*document.packets, *document.extra)),
        blocks.counted_by_time(
            (_columns(records, columns) for records in times.chunks()),
            document.first_sent_ns,
            document.last_sent_ns,
        ),
        _worst(folder / count.WORST),
    )


def _not_exact_words(metrics: Sequence[str], document: CountDocument) -> str:
    resolution = document.histogram_resolution
    return (
        f"{', '.join(metrics)}: more than {document.exact_values_most:,} distinct values, so above "
        f"{resolution.exact_below_ns:,} ns a value is the lower edge of a bucket, at most "
        f"{100 * resolution.relative_above:.3g} % low"
    )


def _worst(path: Path) -> pa.Table:
    file = open_raw(path, RecordKind.PACKET)
    records, fit = np.concatenate([np.zeros(0, file.dtype), *file.chunks()]), fit_of(file.header)
    sent_ns, received_ns = (fit.times_ns(records[f"{name}_tsc"]) for name in ("sent", "received"))
    columns = (
        *(records["seq"], records["direction"], sent_ns, received_ns - sent_ns),
        records["flags"] & PacketFlag.VOID != 0,
    )
    return pa.table(dict(zip(worst.SCHEMA.names, columns, strict=True))).cast(worst.SCHEMA)


def _columns(records: Records, names: Sequence[str]) -> pa.Table:
    return pa.table({name: np.ascontiguousarray(records[name]) for name in names})


def _distributions(path: Path) -> tuple[pa.Table, Sequence[str]]:
    """Give histograms.bin as distribution.parquet has it, and which metrics are not exact."""
    names = {SERIES.index(metric.series): metric.name for metric in METRICS if metric.series}
    parts: dict[str, list[pa.Table]] = {name: [] for name in sorted(names.values())}
    not_exact = set()
    columns = ("direction", "is_void", "is_cold", "value_ticks", "count")
    for records in open_raw(path, RecordKind.HISTOGRAM).chunks():
        # Series come in the order of their numbers.
        numbers, firsts = np.unique(records["series"], return_index=True)
        for number, part in zip(numbers.tolist(), np.split(records, firsts[1:]), strict=True):
            rows = _columns(part, columns).rename_columns([*columns[:3], "value_ns", "n"])
            parts[names[number]].append(distribution.labelled(names[number], rows))
            if (part["width_ticks"] > 1).any():
                not_exact.add(names[number])
    tables = [table for name in parts for table in parts[name]]
    return pa.concat_tables([distribution.SCHEMA.empty_table(), *tables]), sorted(not_exact)


def _counts(groups: Sequence[GroupCounts]) -> Counts:
    found: Counts = {}
    for group in groups:
        found.setdefault((group.direction, group.is_cold), {}).update(group.counters)
    return found
