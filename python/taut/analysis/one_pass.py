"""A trial counted by taut-count in one pass over its packets: the numbers an engine gives.

An engine sorts the packets for each metric that looks from one to the next; a pass has them in
order as it reads.  What it cannot count exactly that way, damaged records above all, it refuses,
and an engine counts it (docs/adr/0014).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from taut.analysis import blocks, distribution, worst
from taut.analysis.blocks import TimeCounts
from taut.analysis.distribution import Counts, Measured
from taut.analysis.episode import Threshold, with_gaps
from taut.analysis.freed import give_back
from taut.analysis.metrics import METRICS
from taut.binaries import count
from taut.core.binaries import find_binary_or_none
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
from taut.testbed.scratch import Scratch

_MOST_NOTED_NS = 1 << 53


@dataclass(frozen=True)
class OnePass:
    """What one pass over a trial found."""

    packets: Path
    late: Path
    """Packets that took longer than `late_above_ns`, or did not come; not there: too many."""
    late_above_ns: int
    distribution: pa.Table
    """The metrics that are not derived from others."""
    not_exact: str | None
    """As Measured has it."""
    counts: Counts
    times: TimeCounts
    worst: pa.Table

    def measured(self) -> Measured:
        """Give every metric, also the one that is computed from another."""
        table = distribution.with_pdv(self.distribution)
        return Measured(table, self.counts, self.not_exact)

    def episodes(self, gaps: Path | None, threshold_ns: int) -> Episodes:
        """Find the episodes among late packets, the longest ones with the gaps they overlap."""
        noted = self.late_above_ns <= threshold_ns and self.late.is_file()
        late = self.late if noted else restored(self.packets, threshold_ns)
        with Scratch("count") as folder:
            count.count(late, folder, late_above_ns=threshold_ns, in_order=noted)
            found = read_document(EpisodesDocument, folder / EPISODES_FILE)
        return with_gaps(gaps, threshold_ns, found.totals, found.worst)


@contextmanager
def counted_in_one_pass(
    packets: Path, n_flows: int, threshold: Threshold
) -> Iterator[OnePass | None]:
    """Count the packets of packets.parquet; None where an engine has to do it.

    That is where taut-count is not built, or one pass cannot count these packets. Episodes of
    packets above the threshold are found faster than others.
    """
    with Scratch("count") as folder:
        yield _counted(packets, n_flows, threshold, folder)


def _counted(packets: Path, n_flows: int, threshold: Threshold, folder: Path) -> OnePass | None:
    if find_binary_or_none(count.PROGRAM) is None:
        return None
    # The median of some packets is not quite that of all; of damaged ones it is anything.
    above_ns = min(threshold.at(likely_median_ns(packets)) // 2, _MOST_NOTED_NS)
    try:
        count.count(restored(packets), folder, n_flows=n_flows, note_above_ns=above_ns)
    except NotForOnePassError:
        return None
    found = _read(packets, above_ns, folder)
    # What decoding and adding up took is more than the tables, and Arrow keeps it.
    give_back()
    return found


def _read(packets: Path, late_above_ns: int, folder: Path) -> OnePass:
    document = read_document(CountDocument, folder / COUNT_FILE)
    values, not_exact = _distributions(folder / count.HISTOGRAMS)
    columns = ("start_ns", "direction", "is_void", "value_ns", "n")
    times = open_raw(folder / count.TIMES, RecordKind.TIME_COUNT)
    return OnePass(
        packets,
        folder / count.LATE,
        late_above_ns,
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
    blocks = open_raw(path, RecordKind.PACKET_BLOCK).chunks(1)
    parts = [_columns_of(block[0], int(block["n"][0])) for block in blocks]
    return pa.concat_tables([worst.SCHEMA.empty_table(), *parts])


def _columns_of(block: np.void, n: int) -> pa.Table:
    sent_ns = block["sent_ns"][:n]
    columns = (
        *(block["seq"][:n], block["direction"][:n]),
        *(sent_ns, block["received_ns"][:n] - sent_ns),
        block["flags"][:n] & PacketFlag.VOID != 0,
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
