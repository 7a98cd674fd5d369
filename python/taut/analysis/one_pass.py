"""A trial counted by taut-count in one pass over its packets: the numbers an engine gives.

An engine sorts the packets for each metric that looks from one to the next; a pass has them in
order as it reads.  What it cannot count exactly that way, damaged records above all, it refuses,
and an engine counts it (docs/adr/0014).
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from taut.analysis import blocks, distribution, worst
from taut.analysis.blocks import TimeCounts
from taut.analysis.distribution import Counts, Measured
from taut.analysis.episode import EPISODE_SCHEMA, with_gaps
from taut.analysis.metrics import METRICS
from taut.binaries import count
from taut.core.binaries import find_binary_or_none
from taut.core.errors import InputError
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
from taut.records.restore import restored
from taut.storage.engine import Engine


@dataclass(frozen=True)
class OnePass:
    """What one pass over a trial found."""

    packets: Path
    distribution: pa.Table
    """The metrics that are not derived from others."""
    counts: Counts
    times: TimeCounts
    worst: pa.Table

    def measured(self, engine: Engine) -> Measured:
        """Give every metric; the engine computes those that are derived."""
        return Measured(distribution.derive(engine, self.distribution), self.counts)

    def episodes(self, engine: Engine, gaps: Path | None, threshold_ns: int) -> Episodes:
        """Find the episodes in another pass; the engine joins the longest with logged gaps."""
        with _folder() as folder:
            count.count(restored(self.packets, threshold_ns), folder, late_above_ns=threshold_ns)
            found = read_document(EpisodesDocument, folder / EPISODES_FILE)
        longest = pa.Table.from_pylist([dict(row) for row in found.worst], EPISODE_SCHEMA)
        return with_gaps(engine, gaps, threshold_ns, found.totals, longest)


def count_in_one_pass(packets: Path, n_flows: int) -> OnePass | None:
    """Count the packets of packets.parquet; None where an engine has to do it.

    That is where taut-count is not built, or one pass cannot count these packets.
    """
    if find_binary_or_none(count.PROGRAM) is None:
        return None
    with _folder() as folder:
        try:
            count.count(restored(packets), folder, n_flows=n_flows)
        except InputError:
            return None
        return _read(packets, folder)


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="taut-count-") as folder:
        yield Path(folder)


def _read(packets: Path, folder: Path) -> OnePass:
    document = read_document(CountDocument, folder / COUNT_FILE)
    return OnePass(
        packets,
        _distributions(_all(folder / count.HISTOGRAMS, RecordKind.HISTOGRAM)),
        _counts((*document.packets, *document.extra)),
        blocks.counted_by_time(
            _columns(
                _all(folder / count.TIMES, RecordKind.TIME_COUNT),
                ("start_ns", "direction", "is_void", "value_ns", "n"),
            ),
            document.first_sent_ns,
            document.last_sent_ns,
        ),
        _worst(folder / count.WORST),
    )


def _worst(path: Path) -> pa.Table:
    file = open_raw(path, RecordKind.PACKET)
    records, fit = _all(path, RecordKind.PACKET), fit_of(file.header)
    sent_ns, received_ns = (fit.times_ns(records[f"{name}_tsc"]) for name in ("sent", "received"))
    columns = (
        *(records["seq"], records["direction"], sent_ns, received_ns - sent_ns),
        records["flags"] & PacketFlag.VOID != 0,
    )
    return pa.table(dict(zip(worst.SCHEMA.names, columns, strict=True))).cast(worst.SCHEMA)


def _all(path: Path, kind: RecordKind) -> Records:
    file = open_raw(path, kind)
    return np.concatenate([np.zeros(0, file.dtype), *file.chunks()])


def _columns(records: Records, names: Sequence[str]) -> pa.Table:
    return pa.table({name: np.ascontiguousarray(records[name]) for name in names})


def _distributions(records: Records) -> pa.Table:
    """Give histograms.bin as distribution.parquet has it, metric by metric in their order."""
    series = {metric.series: metric.name for metric in METRICS if metric.series is not None}
    # Series come in the order of their numbers.
    edges = np.searchsorted(records["series"], np.arange(len(SERIES) + 1))
    parts = {
        series[name]: records[edges[number] : edges[number + 1]]
        for number, name in enumerate(SERIES)
        if name in series
    }
    names = ("direction", "is_void", "is_cold", "value_ticks", "count")
    tables = [
        distribution.labelled(
            metric,
            _columns(parts[metric], names).rename_columns([*names[:3], "value_ns", "n"]),
        )
        for metric in sorted(parts)
    ]
    return pa.concat_tables(tables)


def _counts(groups: Sequence[GroupCounts]) -> Counts:
    found: Counts = {}
    for group in groups:
        found.setdefault((group.direction, group.is_cold), {}).update(group.counters)
    return found
