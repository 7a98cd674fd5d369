"""The gaps of one polling thread: when it did not come round in its loop."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from taut.explain.arrays import Ints, Mask
from taut.explain.read.events import Events

Stretches = tuple[Ints, Ints]
"""Starts and ends in ns, in order and not overlapping."""

NO_STRETCHES: Stretches = (np.empty(0, np.int64), np.empty(0, np.int64))


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
    """The ns that the thread's own log allows for each packet before it logs a gap."""
    skipped: Stretches = NO_STRETCHES
    """Stretches whose events were not kept, since no packet was late (--trace tail)."""
    window_ns: tuple[int, int] | None = None
    """From when to when the trace ran; None: not known."""
    error_ns: int = 0
    """How far its times may be off those of packets: a guest's clock is put on the host's."""

    def __len__(self) -> int:
        return len(self.start_ns)

    @property
    def length_ns(self) -> Ints:
        """How long each gap is."""
        return self.end_ns - self.start_ns

    @property
    def is_skipped(self) -> Mask:
        """Mark the gaps of which not all events were kept."""
        return overlaps(self.start_ns, self.end_ns, *self.skipped)

    @property
    def is_unseen(self) -> Mask:
        """Mark the gaps that the trace did not cover whole: an absent event proves nothing."""
        if self.window_ns is None:
            return self.is_skipped
        first, last = self.window_ns
        return self.is_skipped | (self.start_ns < first) | (self.end_ns > last)

    def take(self, chosen: Ints | Mask | slice) -> "Spans":
        """Give the chosen gaps."""
        return replace(
            self,
            start_ns=self.start_ns[chosen],
            end_ns=self.end_ns[chosen],
            n_packets=self.n_packets[chosen],
            is_lost=self.is_lost[chosen],
        )

    def was_skipped(self, gap: int) -> bool:
        """Whether not all events of one gap were kept."""
        one = slice(gap, gap + 1)
        return bool(overlaps(self.start_ns[one], self.end_ns[one], *self.skipped)[0])


def spans_of(
    gaps: pa.Table,
    thread: str,
    core: int,
    events: Events,
    per_packet_ns: int = 0,
    window_ns: tuple[int, int] | None = None,
) -> Spans:
    """Take one thread's gaps out of a trial's."""
    own = gaps.filter(pc.equal(gaps["thread"], thread)).sort_by("start_ns")
    start = own["start_ns"].to_numpy().astype(np.int64)
    end = own["end_ns"].to_numpy().astype(np.int64)
    n_packets = own["n_packets"].to_numpy().astype(np.int64)
    is_lost = overlaps(start, end, *lost_spans(events, core))
    skipped = skipped_spans(events)
    return Spans(thread, core, start, end, n_packets, is_lost, per_packet_ns, skipped, window_ns)


def lost_spans(events: Events, core: int) -> Stretches:
    """When events of a core were lost, in order; overlapping spans are one."""
    return _spans_in(events, events.of("lost") & (events.cpu == core))


def skipped_spans(events: Events) -> Stretches:
    """When no core's events were kept, in order."""
    return _spans_in(events, events.of("skipped"))


def _spans_in(events: Events, marks: Mask) -> Stretches:
    rows = np.flatnonzero(marks)
    start = events.time_ns[rows]
    return merged(start, np.maximum(events.arg1[rows].astype(np.int64), start))


def merged(start: Ints, end: Ints) -> Stretches:
    """Make one of spans that overlap; they are in the order of their starts."""
    if not len(start):
        return start, end
    end = np.maximum.accumulate(end)
    fresh = np.concatenate([[True], start[1:] > end[:-1]])
    last = np.concatenate([np.flatnonzero(fresh)[1:] - 1, [len(start) - 1]])
    return start[fresh], end[last]


def covered_ns(stretches: Stretches, start_ns: int, end_ns: int) -> int:
    """Give the ns of the time from start to end that the stretches cover."""
    starts, ends = (np.clip(times, start_ns, end_ns) for times in stretches)
    return int((ends - starts).sum())


def overlaps(start: Ints, end: Ints, of_start: Ints, of_end: Ints) -> Mask:
    """Mark the spans that touch one of the others, which are in order and do not overlap."""
    if not len(of_start):
        return np.zeros(len(start), bool)
    first = np.searchsorted(of_end, start, side="left")
    return (first < len(of_start)) & (of_start[np.minimum(first, len(of_start) - 1)] <= end)
