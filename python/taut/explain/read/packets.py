"""The packets of the tail, read from a trial's packets in passes.

The first counts latencies, for the threshold; where those near it share a place in the table of
counts (ranks.py), another one tells them apart.  The last keeps the rows above the threshold, and
how full the device was when each of them was sent.  Of other packets nothing stays in memory.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from math import inf
from pathlib import Path

import numpy as np
import pyarrow as pa

from taut.core.errors import InputError
from taut.core.percentiles import PERCENTILES, is_supported, percentile_rank
from taut.core.timings import stage
from taut.core.units import parse_duration_ns
from taut.explain.arrays import Ints, Mask, in_order, is_in_order
from taut.explain.read.batches import read_batches
from taut.explain.read.ranks import LatencyTable
from taut.explain.read.spans import Stretches, merged
from taut.records.layout import EXTRA_RECORD, PacketFlag

NEVER = -1
"""received_ns of a packet that did not come back."""

_BATCH = 1 << 17
_CONTEXT = 1 << 16  # packets before a batch that may still be in the device when it begins
LOW = (1, 100)
"""The share of a low percentile."""
_PERCENTILE = re.compile(r"p([0-9]+(?:\.[0-9]+)?)")
_OVERLOAD_LOSS = 0.01
_OVERLOAD_QUEUE = 64  # packets: two bursts of 32, what DPDK's forwarders take at once
_STAMPS = ["flags", "sent_ns", "received_ns"]
_COLUMNS = ["seq", "direction", "flags", "due_ns", "sent_ns", "received_ns", "arrival_window_ns"]


@dataclass(frozen=True)
class Normal:
    """What is usual in a trial."""

    n_packets: int
    low_ns: int  # 1st percentile of latency
    p50_ns: int
    threshold_ns: int
    over: str
    mean_interval_ns: int  # between packets of one direction that came back
    n_void: int  # late or not: the generator was held up while they were sent or received
    n_gone: int  # lost, or refused by the transmit call
    is_partial: bool = False  # only slow packets were recorded: the others cannot speak
    n_above: int = 0  # of those that are above the threshold; fewer may have been recorded
    n_at_edge: int = 0  # of those above, so many may be at the threshold by their records

    def n_beside(self, n_recorded: int) -> int:
        """Give how many are above the threshold, where so many of them were recorded."""
        is_short = n_recorded + self.n_at_edge < self.n_above
        return self.n_above if is_short else n_recorded

    @property
    def is_overloaded(self) -> bool:
        """Whether packets are lost and the median packet waits behind two bursts or more.

        Then the median measures a queue, not what the device costs.
        """
        lost = self.n_gone > _OVERLOAD_LOSS * (self.n_packets + self.n_gone)
        return lost and self.p50_ns >= _OVERLOAD_QUEUE * max(self.mean_interval_ns, 1)

    @property
    def base_ns(self) -> int:
        """The latency from which a late packet's excess is counted."""
        return 0 if self.is_overloaded else min(self.p50_ns, self.threshold_ns)


@dataclass(frozen=True)
class Tail:
    """Packets above the threshold, lost or refused; sorted by direction and sequence number."""

    seq: Ints
    direction: Ints
    flags: Ints
    due_ns: Ints
    sent_ns: Ints  # due_ns where it was refused
    received_ns: Ints
    arrival_window_ns: Ints
    in_flight: Ints  # sent before it in its direction and not yet back when it was sent
    n_recent: Ints  # sent in its direction in a window as long as its latency, before it
    fill_ns: Ints  # from its sending until the packet that fills a batch was sent

    def __len__(self) -> int:
        return len(self.seq)

    @property
    def is_late(self) -> Mask:
        """Marks packets that came back, above the threshold; the others never came back."""
        came: Mask = self.received_ns != NEVER
        return came

    @property
    def latency_ns(self) -> Ints:
        """Service latency in ns; 0 for a packet that did not come back."""
        return np.where(self.is_late, self.received_ns - self.sent_ns, 0)

    @property
    def is_void(self) -> Mask:
        """Marks packets that a gap of the generator may have made late."""
        void: Mask = (self.flags & int(PacketFlag.VOID)) != 0
        return void

    @property
    def is_lost(self) -> Mask:
        """Marks packets that were sent and did not come back."""
        return ~self.is_late & ~self.is_unsent

    @property
    def is_unsent(self) -> Mask:
        """Marks packets that the transmit call refused."""
        unsent: Mask = (self.flags & int(PacketFlag.UNSENT)) != 0
        return unsent


@stage("reading packets")
def read_normal(packets: Path, over: str) -> Normal:
    """Find the threshold: a percentile such as p99.9, or a time such as 25us."""
    table, first, last, directions, n_void, n_gone = LatencyTable(), None, 0, set(), 0, 0
    for rows in _batches(packets, ["direction", *_STAMPS]):
        own = _ours(rows)
        n_void += int(np.count_nonzero(own & _is_void(rows)))
        ours = own & _came_back(rows)
        n_gone += int(np.count_nonzero(own & ~ours))
        sent = rows["sent_ns"][ours]
        if not len(sent):
            continue
        directions |= set(np.flatnonzero(np.bincount(rows["direction"][ours])).tolist())
        first = int(sent[0]) if first is None else first
        last = int(sent[-1])
        table.add(rows["received_ns"][ours] - sent)
    n = len(table)
    if not n:
        raise InputError(f"{packets.parent.name}: no packet came back; no latency to explain")
    share = parse_over(over)
    fractions = [LOW, PERCENTILES["p50"]]
    fractions += [] if isinstance(share, int) else [share.as_integer_ratio()]
    # By rank, as everywhere: a share in floating point may be off by a packet.
    ranks = [percentile_rank(n, fraction) for fraction in fractions]
    low, p50, *above = table.at(ranks, lambda: _latencies(packets))
    threshold = share if isinstance(share, int) else above[0]
    interval = (last - (first or 0)) * len(directions) // n
    return Normal(n, low, p50, threshold, over, interval, n_void, n_gone)


def read_percentile(
    packets: Path, name: str, *, with_void: bool, n_due: int | None = None
) -> float | None:
    """Give one percentile of the service latency in ns, of every packet or of those not void.

    `n_due`: how many there were; those that never came back are slower than any that did, and inf:
    the percentile is one of them. None: fewer lie above it than support it (percentiles.SUPPORT).
    """
    table = LatencyTable()
    for latencies in _latencies(packets, with_void=with_void):
        table.add(latencies)
    n = len(table) if n_due is None else n_due
    if not is_supported(n, name):
        return None
    rank = percentile_rank(n, PERCENTILES[name])
    if rank > len(table):
        return inf
    return table.at([rank], lambda: _latencies(packets, with_void=with_void))[0]


def _latencies(packets: Path, *, with_void: bool = True) -> Iterator[Ints]:
    """Read the service latency of each packet that came back."""
    for rows in _batches(packets, _STAMPS):
        ours = _ours(rows) & _came_back(rows)
        if not with_void:
            ours &= ~_is_void(rows)
        yield rows["received_ns"][ours] - rows["sent_ns"][ours]


def parse_over(over: str) -> Fraction | int:
    """Read a threshold: `p99.9` becomes a share of all packets, `25us` a latency in ns.

    InputError: it is neither.
    """
    if not over.startswith("p"):
        return parse_duration_ns(over)
    match = _PERCENTILE.fullmatch(over)
    share = Fraction(Decimal(match[1])) / 100 if match is not None else Fraction(0)
    if not 0 < share < 1:
        raise InputError(f"--over {over}: not a percentile; say p99.9, or a time such as 25us")
    return share


@stage("reading packets")
def read_tail(packets: Path, normal: Normal, batch: int) -> Tail:
    """Read the rows above the threshold, and those that never came back.

    `batch` is how many packets the device collects before it sends them.
    """
    # A quiet trial may have no record at all.
    columns = [[np.empty(0, np.int64)] for _ in fields(Tail)]
    before = None
    for rows in _batches(packets, _COLUMNS):
        own = _ours(rows)
        late = rows["received_ns"] - rows["sent_ns"] > normal.threshold_ns
        is_hit = own & (late | (rows["received_ns"] == NEVER))
        context = _joined(before, rows)
        hits = _hits(rows, is_hit, context, batch, normal.mean_interval_ns)
        for column, part in zip(columns, hits, strict=True):
            column.append(part)
        before = {name: column[-_CONTEXT:] for name, column in context.items()}
    order = np.lexsort((np.concatenate(columns[0]), np.concatenate(columns[1])))
    return Tail(*(_taken(column, order) for column in columns))


def late_windows(tail: Tail) -> Stretches:
    """Give the stretches in which late packets were on their way; overlapping ones are joined."""
    late = tail.is_late
    sent, received = tail.sent_ns[late], tail.received_ns[late]
    order = np.argsort(sent, kind="stable")
    return merged(sent[order], received[order])


def _taken(parts: list[Ints], order: Ints) -> Ints:
    """Join parts in an order; they are gone then, so that no column is there twice for long."""
    whole: Ints = np.concatenate(parts)[order]
    parts.clear()
    return whole


_Rows = dict[str, Ints]
_FLIGHT = ("direction", "seq", "sent_ns", "received_ns")


def _joined(before: _Rows | None, rows: _Rows) -> _Rows:
    back = _came_back(rows)
    now = {name: rows[name][back] for name in _FLIGHT}
    if before is None:
        return now
    return {name: np.concatenate([before[name], now[name]]) for name in _FLIGHT}


def _hits(
    rows: _Rows, is_hit: Mask, context: _Rows, batch: int, interval_ns: int
) -> tuple[Ints, ...]:
    hit = {name: rows[name][is_hit] for name in _COLUMNS}
    sent = np.where(hit["sent_ns"] == NEVER, hit["due_ns"], hit["sent_ns"])
    latency = np.where(hit["received_ns"] == NEVER, 0, hit["received_ns"] - sent)
    in_flight, recent = np.zeros(len(sent), np.int64), np.zeros(len(sent), np.int64)
    fill = np.full(len(sent), (batch - 1) * interval_ns)
    for direction in np.unique(hit["direction"]):
        same, ours = hit["direction"] == direction, context["direction"] == direction
        departures, seq = _in_order(context, ours)
        arrivals = in_order(context["received_ns"][ours])
        at = _position(departures, seq, sent[same], hit["seq"][same])
        in_flight[same] = at - np.searchsorted(arrivals, sent[same], "right")
        recent[same] = at - np.searchsorted(departures, (sent - latency)[same], "left")
        # Behind the last record read so far, the usual interval stands in.
        last = at + batch - 1
        known = last < len(departures)
        until = departures[np.minimum(last, len(departures) - 1)] if len(departures) else sent[same]
        fill[same] = np.where(known, until - sent[same], fill[same])
    return (
        hit["seq"],
        hit["direction"],
        hit["flags"],
        hit["due_ns"],
        sent,
        hit["received_ns"],
        hit["arrival_window_ns"],
        np.maximum(in_flight, 0),
        recent,
        np.maximum(fill, 0),
    )


def _in_order(context: _Rows, chosen: Mask) -> tuple[Ints, Ints]:
    """Give sending times and sequence numbers of the chosen packets, in the order of sending."""
    sent, seq = context["sent_ns"][chosen], context["seq"][chosen]
    if is_in_order(seq) and is_in_order(sent):
        return sent, seq
    order = np.argsort(seq, kind="stable")  # nearly sorted: cheap
    if not is_in_order(sent[order]):
        order = np.lexsort((seq, sent))
    return sent[order], seq[order]


def _position(departures: Ints, seq: Ints, sent: Ints, own_seq: Ints) -> Ints:
    """How many packets left before each of these: one transmit call stamps all of its packets."""
    low = np.searchsorted(departures, sent, "left")
    if not len(departures):
        return low
    first = np.minimum(low, len(departures) - 1)
    is_same = departures[first] == sent
    return low + np.where(is_same, np.maximum(own_seq - seq[first], 0), 0)


def _ours(rows: _Rows) -> Mask:
    """Mark rows of packets due after the warm-up; further receipts of a packet are left out."""
    ours: Mask = (rows["flags"] & int(EXTRA_RECORD | PacketFlag.COLD)) == 0
    return ours


def _came_back(rows: _Rows) -> Mask:
    came: Mask = (rows["received_ns"] != NEVER) & (rows["sent_ns"] != NEVER)
    return came


def _is_void(rows: _Rows) -> Mask:
    void: Mask = (rows["flags"] & int(PacketFlag.VOID)) != 0
    return void


def _batches(packets: Path, columns: list[str]) -> Iterator[_Rows]:
    for batch in read_batches(packets, columns, _BATCH):
        yield {name: _column(batch.column(name)) for name in columns}


def _column(values: pa.Array) -> Ints:
    if values.null_count:
        values = values.fill_null(pa.scalar(NEVER, values.type))
    column: Ints = values.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return column
