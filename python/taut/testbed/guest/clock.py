"""A guest's clock on the host's: by round trips over a channel, as NTP does it.

An answer was given at some time between question and receipt, so each exchange bounds the offset of
the two clocks from both sides; of some hundred the shortest counts, and the others have to agree.
Before and after the trial: between these two the clocks' distance is a line.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from taut.core.errors import TrialError
from taut.core.files import write_json
from taut.records.documents.json_form import plain, read_document
from taut.records.documents.trace import TraceDocument
from taut.records.layout import FILE_HEADER, RECORDS, EventKind, RecordKind
from taut.records.raw_file import open_raw
from taut.testbed.guest.channel import Exchange

N_EXCHANGES = 200
_JUMP_NS = 1_000_000
# By kind, the fields that hold the guest's time.
_TIMES = {
    RecordKind.GAP: ("start_tsc", "end_tsc"),
    RecordKind.STAMP: ("tsc",),
    RecordKind.EVENT: ("tsc",),
    RecordKind.INJECTION: ("start_tsc", "end_tsc"),
}


@dataclass(frozen=True)
class Bound:
    """Where the guest's counter stood at one time of the host's, in ticks of the guest."""

    host_tsc: int
    guest_tsc: int
    error_ticks: int
    """The true value is no farther away."""


@dataclass(frozen=True)
class HostLine:
    """The host's CLOCK_MONOTONIC_RAW as ticks of its counter, by two readings of both."""

    tsc: int
    mono_raw_ns: int
    ticks_per_ns: float

    def tsc_at(self, mono_raw_ns: int) -> int:
        return self.tsc + round((mono_raw_ns - self.mono_raw_ns) * self.ticks_per_ns)


def bound_of(exchanges: Sequence[Exchange], line: HostLine) -> Bound:
    """Give the bound of the shortest of some exchanges: its answer was given amid it, or so."""
    best = min(exchanges, key=lambda one: one.received_ns - one.sent_ns)
    sent, received = line.tsc_at(best.sent_ns), line.tsc_at(best.received_ns)
    return Bound((sent + received) // 2, best.guest_tsc, (received - sent + 1) // 2)


@dataclass(frozen=True)
class GuestClock:
    """The guest's counter as the host's, between two bounds."""

    before: Bound
    after: Bound
    disagreement_ticks: int = 0
    """How far the worst of all exchanges is off the line: an emulated clock drifts unevenly."""

    @property
    def error_ticks(self) -> int:
        """A line between two points is nowhere farther off than at one of them."""
        return max(self.before.error_ticks, self.after.error_ticks) + self.disagreement_ticks

    @property
    def host_ticks_per_tick(self) -> float:
        """How many ticks of the host's counter one of the guest's lasts."""
        made = self.after.guest_tsc - self.before.guest_tsc
        return (self.after.host_tsc - self.before.host_tsc) / made if made > 0 else 1.0

    def to_host(self, guest_tsc: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Give the host's counter at times of the guest's."""
        since = (guest_tsc - np.uint64(self.before.guest_tsc)).view(np.int64)
        ticks = np.rint(since.astype(np.float64) * self.host_ticks_per_tick).astype(np.int64)
        return (np.int64(self.before.host_tsc) + ticks).view(np.uint64)


def compared(before: Sequence[Exchange], after: Sequence[Exchange], line: HostLine) -> GuestClock:
    """Put the guest's clock on the host's; TrialError where an exchange tells otherwise."""
    clock = GuestClock(bound_of(before, line), bound_of(after, line))
    worst = 0
    for one in (*before, *after):
        answered = int(clock.to_host(np.array([one.guest_tsc], np.uint64))[0])
        early = line.tsc_at(one.sent_ns) - answered
        late = answered - line.tsc_at(one.received_ns)
        worst = max(worst, early, late)
    if worst > _JUMP_NS * line.ticks_per_ns:
        raise TrialError(
            "guest: its clock jumped while it was compared with the host's; its times cannot be "
            "told in the host's"
        )
    return replace(clock, disagreement_ticks=worst)


def rebase(path: Path, kind: RecordKind, clock: GuestClock, line: HostLine) -> None:
    """Rewrite a guest's record file so that its times are the host's."""
    raw = open_raw(path, kind)
    header = np.array([raw.header], FILE_HEADER)
    chunks = []
    for records in raw.chunks():
        for name in _TIMES[kind]:
            records[name] = clock.to_host(np.ascontiguousarray(records[name]))
        if kind is RecordKind.EVENT:
            _rebase_spans(records, clock)
        chunks.append(records)
    for name in ("first", "last"):
        tsc = header[name]["tsc"]
        if tsc[0] != 0:  # of a writer that died there is no last reading
            moved = clock.to_host(np.ascontiguousarray(tsc))
            since_ns = (int(moved[0]) - line.tsc) / line.ticks_per_ns
            header[name]["tsc"] = moved
            header[name]["mono_raw_ns"] = line.mono_raw_ns + round(since_ns)
    if header["epoch_tsc"][0] != 0:
        header["epoch_tsc"] = clock.to_host(np.ascontiguousarray(header["epoch_tsc"]))
    with path.open("wb") as file:
        header.tofile(file)
        for records in chunks or [np.empty(0, RECORDS[kind])]:
            records.tofile(file)


def rebase_trace(path: Path, clock: GuestClock) -> None:
    """Rewrite when a guest's trace began and ended, in its trace.json."""
    trace = read_document(TraceDocument, path)
    at = [trace.armed_tsc, trace.stopped_tsc]
    moved = [
        None if tsc is None else int(clock.to_host(np.array([tsc], np.uint64))[0]) for tsc in at
    ]
    write_json(path, plain(replace(trace, armed_tsc=moved[0], stopped_tsc=moved[1])))


def _rebase_spans(records: npt.NDArray[np.void], clock: GuestClock) -> None:
    """Of events that were lost or not kept the second argument is until when."""
    of_span = np.isin(records["kind"], (EventKind.LOST, EventKind.SKIPPED))
    until = np.ascontiguousarray(records["args"][of_span, 1])
    records["args"][of_span, 1] = clock.to_host(until)
