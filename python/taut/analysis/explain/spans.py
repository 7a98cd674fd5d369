"""The gaps of one polling thread: when it was not in its loop."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from taut.analysis.explain.arrays import Ints, Mask
from taut.analysis.explain.events import Events


@dataclass(frozen=True)
class Spans:
    """Gaps in the order of time, none overlapping another."""

    thread: str  # generator, forwarder, noise: who kept the log
    core: int
    start_ns: Ints
    end_ns: Ints
    n_packets: Ints
    is_lost: Mask  # events of that core were lost in it
    per_packet_ns: int = 0
    """What the thread's own log grants a packet: its work is no gap."""

    def __len__(self) -> int:
        return len(self.start_ns)

    @property
    def length_ns(self) -> Ints:
        """How long each gap is."""
        return self.end_ns - self.start_ns


def spans_of(
    gaps: pa.Table, thread: str, core: int, events: Events, per_packet_ns: int = 0
) -> Spans:
    """Take one thread's gaps out of a trial's."""
    own = gaps.filter(pc.equal(gaps["thread"], thread)).sort_by("start_ns")
    start = own["start_ns"].to_numpy().astype(np.int64)
    end = own["end_ns"].to_numpy().astype(np.int64)
    n_packets = own["n_packets"].to_numpy().astype(np.int64)
    lost = lost_spans(events, core)
    return Spans(thread, core, start, end, n_packets, overlaps(start, end, *lost), per_packet_ns)


def lost_spans(events: Events, core: int) -> tuple[Ints, Ints]:
    """When events of a core were lost, in order; overlapping spans are one."""
    rows = np.flatnonzero(events.of("lost") & (events.cpu == core))
    start = events.time_ns[rows]
    end = np.maximum.accumulate(np.maximum(events.arg1[rows].astype(np.int64), start))
    if not len(start):
        return start, end
    fresh = np.concatenate([[True], start[1:] > end[:-1]])
    last = np.concatenate([np.flatnonzero(fresh)[1:] - 1, [len(start) - 1]])
    return start[fresh], end[last]


def overlaps(start: Ints, end: Ints, of_start: Ints, of_end: Ints) -> Mask:
    """Mark the spans that touch one of the others; those are in order and apart."""
    if not len(of_start):
        return np.zeros(len(start), bool)
    first = np.searchsorted(of_end, start, side="left")
    return (first < len(of_start)) & (of_start[np.minimum(first, len(of_start) - 1)] <= end)
