"""The gaps of a trial that can be explained.

All of them; with `--trace tail` those whose events were kept, those that a late packet met, and the
longest. Of the rest only number and length are known. The file is read once for what is to be known
of all gaps, and again by whoever goes through those of a thread: an hour has tens of millions.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from taut.explain.arrays import BEFORE_ALL, Ints, Mask, is_in_order
from taut.explain.read.batches import read_batches
from taut.explain.read.counts import Counts
from taut.explain.read.spans import Stretches, overlaps
from taut.records.convert import GAP_SCHEMA

DEVICE = "forwarder"
_BATCH = 1 << 16
_ROW = pa.field("row", pa.int64())


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
    least_ns: int | None = None
    """The ns a packet took in the quickest of them; None: there was none."""


@dataclass(frozen=True)
class Gaps:
    """Gaps to be judged, in their file, and sums over the rest."""

    path: Path
    explainable: Explainable
    longest: Ints
    """The longest of those that are not explainable, which are judged all the same: their rows."""
    n: Mapping[str, int]
    """How many are to be judged, by thread."""
    disordered: frozenset[str]
    """The threads whose gaps are not in the order of time."""
    rest: tuple[Rest, ...]
    handled: Mapping[str, Handled]
    """By thread; one that handled no packet in a gap is not there."""
    end_ns: Mapping[str, int]
    """When the last gap ended that each thread logged, judged or not."""
    ahead_ns: Mapping[str, int]
    """By thread, how far its clock is ahead of the packets'; one that is not here agrees."""

    def of(self, thread: str) -> Iterator[pa.Table]:
        """Read the gaps of one thread that are to be judged, in the order of time."""
        if thread not in self.disordered or not self.n.get(thread):
            return self._of(thread)
        return iter([pa.concat_tables(self._of(thread)).sort_by("start_ns")])

    def _of(self, thread: str) -> Iterator[pa.Table]:
        for table in _batches(self.path, self.ahead_ns) if self.n.get(thread) else ():
            own = table.filter(pc.equal(table["thread"], thread))
            if own.num_rows:
                chosen = self.explainable.mark(*_times(own))
                chosen |= np.isin(own["row"].to_numpy(), self.longest)
                yield own.filter(pa.array(chosen)).select(GAP_SCHEMA.names)


@dataclass
class _Sums:
    """What is gathered of one thread while the file is read."""

    last_ns: int = BEFORE_ALL
    end_ns: int = BEFORE_ALL
    is_in_order: bool = True
    n: int = 0
    n_handled: int = 0
    per_packet_ns: Counts = field(default_factory=Counts)
    n_aside: int = 0
    aside_ns: int = 0
    worst_aside_ns: int = 0


def read_gaps(
    path: Path, explainable: Explainable, ahead_ns: Mapping[str, int] = MappingProxyType({})
) -> Gaps:
    """Read what is to be known of a trial's gaps; they themselves stay in the file.

    `ahead_ns`: by thread, how far its clock is ahead of the packets'.
    """
    sums: defaultdict[str, _Sums] = defaultdict(_Sums)
    longest = GAP_SCHEMA.append(_ROW).empty_table()
    for table in _batches(path, ahead_ns):
        for thread in table["thread"].unique().to_pylist():
            own = table.filter(pc.equal(table["thread"], thread))
            chosen = explainable.mark(*_times(own))
            _add(sums[thread], own, chosen)
            if not chosen.all():
                both = pa.concat_tables([longest, own.filter(pa.array(~chosen))])
                order = np.argsort(-_lengths(both), kind="stable")[: explainable.n_longest]
                longest = both.take(pa.array(order))
    told: defaultdict[str, list[int]] = defaultdict(list)
    for thread, ns in zip(longest["thread"].to_pylist(), _lengths(longest).tolist(), strict=True):
        told[thread].append(ns)
    return Gaps(
        path,
        explainable,
        longest["row"].to_numpy(),
        {thread: of.n + len(told[thread]) for thread, of in sums.items()},
        frozenset(thread for thread, of in sums.items() if not of.is_in_order),
        tuple(
            Rest(thread, n, of.aside_ns - sum(told[thread]), of.worst_aside_ns)
            for thread, of in sorted(sums.items())
            if (n := of.n_aside - len(told[thread]))
        ),
        {
            thread: Handled(of.n_handled, _median(of.per_packet_ns), of.per_packet_ns.at(1))
            for thread, of in sums.items()
            if of.n_handled
        },
        {thread: of.end_ns for thread, of in sums.items()},
        ahead_ns,
    )


def _batches(path: Path, ahead_ns: Mapping[str, int]) -> Iterator[pa.Table]:
    """Read gaps, on the packets' clock, with the numbers of their rows."""
    if not path.is_file():
        return
    n = 0
    for batch in read_batches(path, GAP_SCHEMA.names, _BATCH):
        rows = np.arange(n, n + len(batch))
        n += len(batch)
        table = _put_right(pa.Table.from_batches([batch]).cast(GAP_SCHEMA), ahead_ns)
        yield table.append_column(_ROW, pa.array(rows))


def _put_right(table: pa.Table, ahead_ns: Mapping[str, int]) -> pa.Table:
    for thread, ns in ahead_ns.items():
        is_own = pc.equal(table["thread"], thread)
        for name in ("start_ns", "end_ns"):
            right = pc.if_else(is_own, pc.subtract(table[name], ns), table[name])
            at = table.schema.get_field_index(name)
            table = table.set_column(at, table.schema.field(at), right)
    return table


def _times(table: pa.Table) -> tuple[Ints, Ints]:
    return table["start_ns"].to_numpy(), table["end_ns"].to_numpy()


def _lengths(table: pa.Table) -> Ints:
    start, end = _times(table)
    return end - start


def _add(sums: _Sums, own: pa.Table, chosen: Mask) -> None:
    start, end = _times(own)
    sums.is_in_order &= start[0] >= sums.last_ns and is_in_order(start)
    sums.last_ns = int(start[-1])
    sums.end_ns = max(sums.end_ns, int(end.max()))
    lengths, n_packets = _lengths(own), own["n_packets"].to_numpy().astype(np.int64)
    busy = n_packets > 0
    sums.n_handled += int(n_packets.sum())
    sums.per_packet_ns.add(lengths[busy] // n_packets[busy])
    sums.n += int(np.count_nonzero(chosen))
    aside = lengths[~chosen]
    sums.n_aside += len(aside)
    sums.aside_ns += int(aside.sum())
    sums.worst_aside_ns = max(sums.worst_aside_ns, int(aside.max(initial=0)))


def _median(counts: Counts) -> int:
    n = len(counts)
    return (counts.at((n + 1) // 2) + counts.at(n // 2 + 1)) // 2
