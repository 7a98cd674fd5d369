"""The gaps of a trial that can be explained.

All of them; with `--trace tail` those whose events were kept, those that a late packet met, and the
longest. Of the rest only number and length are known: an hour has tens of millions.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from taut.explain.arrays import Ints, Mask, Numbers
from taut.explain.read.batches import read_batches
from taut.explain.read.spans import Stretches, overlaps
from taut.records.convert import GAP_SCHEMA

DEVICE = "forwarder"
_BATCH = 1 << 18


@dataclass(frozen=True)
class Explainable:
    """Which gaps can be explained, by when they were."""

    skipped: Stretches
    """Stretches whose events were not kept."""
    met: Stretches
    """Stretches in which a late packet was on its way."""
    n_longest: int

    def mark(self, start_ns: Ints, end_ns: Ints) -> Mask:
        """Mark the gaps whose events were kept, or that a late packet met."""
        kept = ~overlaps(start_ns, end_ns, *self.skipped)
        return kept | overlaps(start_ns, end_ns, *self.met)


@dataclass(frozen=True)
class Rest:
    """Number and lengths of those gaps of one thread that are not explained."""

    thread: str
    n: int
    total_ns: int
    worst_ns: int  # of all gaps without events, those told one by one included


@dataclass(frozen=True)
class Handled:
    """Packets that a thread handled in iterations that were gaps."""

    n: int = 0
    per_packet_ns: int = 0
    """The ns a packet took in such an iteration, the median over them."""


@dataclass(frozen=True)
class Gaps:
    """Gaps to be judged, and sums over the rest."""

    table: pa.Table
    rest: tuple[Rest, ...]
    handled: Mapping[str, Handled]
    """By thread; one that handled no packet in a gap is not there."""


@dataclass
class _Sums:
    """Sums gathered while the file is read."""

    chosen: list[pa.Table] = field(default_factory=list)
    longest: pa.Table = field(default_factory=GAP_SCHEMA.empty_table)
    aside: dict[str, Rest] = field(default_factory=dict)
    n_handled: dict[str, int] = field(default_factory=dict)
    per_packet_ns: dict[str, list[Numbers]] = field(default_factory=dict)


def read_gaps(path: Path, explainable: Explainable) -> Gaps:
    """Read a trial's gaps; only those that can be explained are kept in memory."""
    sums = _Sums()
    for table in _batches(path):
        _count_packets(sums, table)
        start, end = (table[name].to_numpy() for name in ("start_ns", "end_ns"))
        chosen = explainable.mark(start, end)
        if chosen.all():
            sums.chosen.append(table)
            continue
        sums.chosen.append(table.filter(pa.array(chosen)))
        _put_aside(sums, table.filter(pa.array(~chosen)), explainable.n_longest)
    # The longest are told one by one, so they count among the gaps to judge.
    table = pa.concat_tables([GAP_SCHEMA.empty_table(), *sums.chosen, sums.longest])
    handled = {
        thread: Handled(sums.n_handled[thread], int(np.median(np.concatenate(each))))
        for thread, each in sums.per_packet_ns.items()
    }
    return Gaps(table, tuple(_rest(sums)), handled)


def _batches(path: Path) -> Iterator[pa.Table]:
    if not path.is_file():
        return
    for batch in read_batches(path, GAP_SCHEMA.names, _BATCH):
        yield pa.Table.from_batches([batch]).cast(GAP_SCHEMA)


def _lengths(table: pa.Table) -> Ints:
    lengths: Ints = pc.subtract(table["end_ns"], table["start_ns"]).to_numpy()
    return lengths


def _count_packets(sums: _Sums, table: pa.Table) -> None:
    busy = table.filter(pc.greater(table["n_packets"], 0))
    for thread in busy["thread"].unique().to_pylist():
        own = busy.filter(pc.equal(busy["thread"], thread))
        n = own["n_packets"].to_numpy().astype(np.int64)
        sums.n_handled[thread] = sums.n_handled.get(thread, 0) + int(n.sum())
        each = np.minimum(_lengths(own) // n, np.iinfo(np.int32).max)
        sums.per_packet_ns.setdefault(thread, []).append(each.astype(np.int32))


def _put_aside(sums: _Sums, rest: pa.Table, n_longest: int) -> None:
    by_thread = rest.append_column("length", pa.array(_lengths(rest))).group_by("thread")
    wanted = [("length", "count"), ("length", "sum"), ("length", "max")]
    for row in by_thread.aggregate(wanted).to_pylist():
        known = sums.aside.get(row["thread"], Rest(row["thread"], 0, 0, 0))
        sums.aside[row["thread"]] = Rest(
            row["thread"],
            known.n + row["length_count"],
            known.total_ns + row["length_sum"],
            max(known.worst_ns, row["length_max"]),
        )
    both = pa.concat_tables([sums.longest, rest])
    order = np.argsort(-_lengths(both), kind="stable")[:n_longest]
    sums.longest = both.take(pa.array(order))


def _rest(sums: _Sums) -> Iterator[Rest]:
    threads, lengths = sums.longest["thread"].to_pylist(), _lengths(sums.longest).tolist()
    for thread, aside in sorted(sums.aside.items()):
        told = [ns for name, ns in zip(threads, lengths, strict=True) if name == thread]
        if aside.n > len(told):
            yield Rest(thread, aside.n - len(told), aside.total_ns - sum(told), aside.worst_ns)
