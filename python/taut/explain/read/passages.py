"""When packets passed: what a trial's packets say of the threads that handled them.

A device that stands still lets no packet out, and a generator that stands still sends and receives
nothing.  Nothing is kept of the packets: one reading answers for as many stretches as are asked.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from taut.explain.arrays import AFTER_ALL, BEFORE_ALL, Ints
from taut.explain.read.spans import Stretches
from taut.records.layout import PacketFlag

MARGIN_NS = 500
"""Two cores' clocks may differ by so much, and a packet takes so long into the generator's ring."""

_STAMPS_NS = 10
"""Stamps of one call that were rounded differently; two calls are further apart."""

_WINDOW_MOST_NS = 1_000_000_000
"""An arrival window is counted in 32 bits of ticks: a longer one may have been cut."""

_SHARED = frozenset({"memif", "ring", "null"})
"""Links without a kernel between: what the device lets out, the generator's next poll finds."""

_BATCH = 1 << 18
_EXTRA = PacketFlag.LATE | PacketFlag.DUPLICATE | PacketFlag.ORPHAN
_COLUMNS = ["flags", "sent_ns", "received_ns", "arrival_window_ns"]
_Rows = tuple[Ints, Ints, Ints]
"""Of the packets that came back: sent, received, and from when on it was not yet there."""


@dataclass(frozen=True)
class Passed:
    """What passed a device inside each of some stretches."""

    n: Ints
    """Packets that the device let out inside it, and that came back inside it."""
    first_ns: Ints
    """When the first of them was back; AFTER_ALL: there was none."""
    before_ns: Ints
    """When the last packet before the stretch was back; BEFORE_ALL: none was."""
    after_ns: Ints
    """When the first packet after it was back; AFTER_ALL: none was."""


@dataclass(frozen=True)
class Stamps:
    """What the generator did inside each of some stretches; AFTER_ALL: nothing of that kind."""

    received_ns: Ints
    """The first receipt inside it."""
    sent_again_ns: Ints
    """The last transmit call inside it, if there were two or more."""


@dataclass(frozen=True)
class Passages:
    """The packets of a trial, as evidence of who worked when."""

    packets: Path
    link: str = ""
    """A kind of link; where it is not known, the kernel is taken to stand between."""

    @property
    def is_shared(self) -> bool:
        """Whether packets come from the device without a kernel between."""
        return self.link in _SHARED

    def inside(self, start: Ints, end: Ints) -> Passed:
        """Say what the device let out inside stretches; they are in order and apart.

        A packet counts that cannot have waited in a ring since before: of a link in shared memory
        one that an earlier poll inside the stretch did not find; else one that was sent inside.
        """
        n = np.zeros(len(start), np.int64)
        first, after = np.full(len(start), AFTER_ALL), np.full(len(start), AFTER_ALL)
        before = np.full(len(start), BEFORE_ALL)
        for sent, received, absent in self._rows() if len(start) else ():
            # Behind a kernel's queue it may have been through the device before the stretch began.
            left = np.where(absent == BEFORE_ALL, sent, absent) if self.is_shared else sent
            order = np.argsort(received, kind="stable")
            back = received[order]
            # The least of all that came later: what is not in order proves less, never more.
            left = np.minimum.accumulate(left[order][::-1])[::-1]
            low = np.searchsorted(left, start + MARGIN_NS, "left")
            high = np.searchsorted(back, end - MARGIN_NS, "right")
            n += np.maximum(high - low, 0)
            first = np.minimum(first, np.where(high > low, _at(back, low, AFTER_ALL), AFTER_ALL))
            until = np.searchsorted(back, start, "right") - 1
            before = np.maximum(before, np.where(until >= 0, back[until], BEFORE_ALL))
            since = np.searchsorted(back, end, "left")
            after = np.minimum(after, _at(back, since, AFTER_ALL))
        return Passed(n, first, before, after)

    def silences(self, least_ns: int) -> Stretches:
        """Give the stretches, at least so long, in which no packet came back; in order."""
        starts, ends, last = [], [], None
        for _, received, _ in self._rows():
            back = np.sort(received)
            if last is not None:
                back = np.append(last, back[back > last])
            at = np.flatnonzero(np.diff(back) >= least_ns)
            starts.append(back[at])
            ends.append(back[at + 1])
            last = back[-1]
        none = np.empty(0, np.int64)
        return np.concatenate([none, *starts]), np.concatenate([none, *ends])

    def stamped(self, start: Ints, end: Ints) -> Stamps:
        """Say what the generator sent and received inside stretches; in order and apart."""
        received, least = np.full(len(start), AFTER_ALL), np.full(len(start), AFTER_ALL)
        most = np.full(len(start), BEFORE_ALL)
        inner, outer = start + _STAMPS_NS, end - _STAMPS_NS
        for sent, back, _ in self._rows() if len(start) else ():
            stamps = np.sort(back)
            first = _at(stamps, np.searchsorted(stamps, inner, "right"), AFTER_ALL)
            received = np.minimum(received, np.where(first < outer, first, AFTER_ALL))
            stamps = np.sort(sent)
            first = _at(stamps, np.searchsorted(stamps, inner, "right"), AFTER_ALL)
            least = np.minimum(least, np.where(first < outer, first, AFTER_ALL))
            until = np.searchsorted(stamps, outer, "left") - 1
            last = np.where(until >= 0, stamps[until], BEFORE_ALL)
            most = np.maximum(most, np.where(last > inner, last, BEFORE_ALL))
        is_twice = (least < AFTER_ALL) & (most > least + _STAMPS_NS)
        return Stamps(received, np.where(is_twice, most, AFTER_ALL))

    def _rows(self) -> Iterator[_Rows]:
        with pq.ParquetFile(self.packets) as file:
            for batch in file.iter_batches(_BATCH, columns=_COLUMNS):
                rows = _came_back(batch)
                if len(rows[0]):
                    yield rows


def _came_back(batch: pa.RecordBatch) -> _Rows:
    flags, sent, received, window = (_column(batch.column(name)) for name in _COLUMNS)
    came = (flags & int(_EXTRA) == 0) & (sent != AFTER_ALL) & (received != AFTER_ALL)
    sent, received, window = sent[came], received[came], window[came]
    absent = np.where(window < _WINDOW_MOST_NS, received - window, BEFORE_ALL)
    return sent, received, absent


def _column(values: pa.Array) -> Ints:
    if values.null_count:
        values = values.fill_null(
            pa.scalar(AFTER_ALL if values.type == pa.int64() else 0, values.type)
        )
    column: Ints = values.to_numpy(zero_copy_only=False).astype(np.int64)
    return column


def _at(values: Ints, index: Ints, otherwise: int) -> Ints:
    """Values at positions; `otherwise` behind the last."""
    found = values[np.minimum(index, len(values) - 1)]
    return np.where(index < len(values), found, otherwise)
