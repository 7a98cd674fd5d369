"""When packets passed the device and the generator: evidence of which threads were working.

A device that stands still lets no packet out, and a generator that stands still sends and receives
nothing.  Packets are not kept in memory: one reading answers for any number of stretches.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from taut.explain.arrays import AFTER_ALL, BEFORE_ALL, Ints, at_or, in_order, is_in_order
from taut.explain.read.batches import read_batches, read_bounds
from taut.explain.read.clocks import CLOCKS_NS
from taut.explain.read.spans import Stretches
from taut.records.layout import EXTRA_RECORD
from taut.testbed.links import LINKS

_STAMPS_NS = 10
"""Stamps of one call may differ by so much through rounding; two calls are further apart."""

_WINDOW_MOST_NS = 1_000_000_000
"""An arrival window is counted in 32 bits of ticks: a longer one may have been cut."""

_BATCH = 1 << 16
_STAMPS = ["sent_ns", "received_ns"]
_COLUMNS = ["flags", *_STAMPS, "arrival_window_ns"]
_Rows = tuple[Ints, Ints, Ints]
"""For packets that came back: when sent, received, and last looked for in vain; in ns."""


@dataclass(frozen=True)
class Passed:
    """The packets that passed a device inside each of some stretches of time."""

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
    """When the generator sent and received inside each of some stretches; AFTER_ALL: it did not."""

    received_ns: Ints
    """The first receipt inside it."""
    sent_again_ns: Ints
    """The last transmit call inside it, if there were two or more."""


@dataclass(frozen=True)
class Passages:
    """The packets of a trial, as evidence of which thread worked when."""

    packets: Path
    link: str = ""
    """The kind of link; empty: not known, and taken to go through the kernel."""
    groups: Sequence[int] | None = None
    """The row groups that are read; None: all."""
    error_ns: int = 0
    """How far clocks of cores that were put right (clocks.py) may still be off."""

    @property
    def is_shared(self) -> bool:
        """Whether packets come from the device through shared memory alone."""
        kind = LINKS.get(self.link)
        return kind is not None and not kind.crosses_kernel and not kind.is_card

    def near(self, start: Ints, end: Ints) -> "Passages":
        """Leave out what was not sent or received from the first of some stretches to the last.

        What is left says as much of what happened inside them, but not of what did beside them.
        """
        if not len(start):
            return self
        least, most = self._bounds
        groups = np.flatnonzero((least <= end.max()) & (most >= start.min()))
        return replace(self, groups=groups.tolist())

    def inside(self, start: Ints, end: Ints, error_ns: int = 0) -> Passed:
        """Say what the device let out inside stretches, which are in order and do not overlap.

        Only packets count that cannot have waited in a ring since before the stretch: on a link in
        shared memory, those that an earlier poll inside it did not find; else those sent inside.
        `error_ns` is how far the times of the stretches may be off; nothing counts that is so near
        to an end, or nearer than CLOCKS_NS.
        """
        margin_ns = max(CLOCKS_NS, self.error_ns, error_ns)
        n = np.zeros(len(start), np.int64)
        first, after = np.full(len(start), AFTER_ALL), np.full(len(start), AFTER_ALL)
        before = np.full(len(start), BEFORE_ALL)
        nearby = _Nearby(start, end)
        # Of batches that are over before a stretch, or begin after it, only this is to be known.
        last_back, next_back = (
            np.full(len(start) + 1, BEFORE_ALL),
            np.full(len(start) + 1, AFTER_ALL),
        )
        for sent, received, absent in self._rows() if len(start) else ():
            # Behind a kernel's queue it may have been through the device before the stretch began.
            left = np.where(absent == BEFORE_ALL, sent, absent) if self.is_shared else sent
            back = received
            if not is_in_order(back):
                order = np.argsort(back, kind="stable")
                back, left = back[order], left[order]
            # The least of all later stamps: packets out of order then prove less, never more.
            left = np.minimum.accumulate(left[::-1])[::-1]
            near = nearby.to(back[0], max(back[-1], left[-1]))
            last_back[near.stop] = max(last_back[near.stop], back[-1])
            next_back[near.start] = min(next_back[near.start], back[0])
            low = np.searchsorted(left, start[near] + margin_ns, "left")
            high = np.searchsorted(back, end[near] - margin_ns, "right")
            n[near] += np.maximum(high - low, 0)
            passed = np.where(high > low, _at(back, low, AFTER_ALL), AFTER_ALL)
            first[near] = np.minimum(first[near], passed)
            until = np.searchsorted(back, start[near], "right") - 1
            before[near] = np.maximum(before[near], at_or(back, until, BEFORE_ALL))
            since = np.searchsorted(back, end[near], "left")
            after[near] = np.minimum(after[near], _at(back, since, AFTER_ALL))
        before = np.maximum(before, np.maximum.accumulate(last_back)[:-1])
        after = np.minimum(after, np.minimum.accumulate(next_back[::-1])[::-1][1:])
        return Passed(n, first, before, after)

    def silences(self, least_ns: int) -> Stretches:
        """Give the stretches of `least_ns` or more in which no packet came back, in order."""
        starts, ends, last = [], [], None
        for _, received, _ in self._rows():
            back = in_order(received)
            if last is not None:
                back = np.append(last, back[back > last])
            at = np.flatnonzero(np.diff(back) >= least_ns)
            starts.append(back[at])
            ends.append(back[at + 1])
            last = back[-1]
        none = np.empty(0, np.int64)
        return np.concatenate([none, *starts]), np.concatenate([none, *ends])

    def stamped(self, start: Ints, end: Ints) -> Stamps:
        """Say when the generator sent and received inside stretches, as for `inside`."""
        received, least = np.full(len(start), AFTER_ALL), np.full(len(start), AFTER_ALL)
        most = np.full(len(start), BEFORE_ALL)
        nearby = _Nearby(start, end)
        for sent, back, _ in self._rows() if len(start) else ():
            stamps = in_order(back)
            near = nearby.to(stamps[0], stamps[-1])
            inner, outer = start[near] + _STAMPS_NS, end[near] - _STAMPS_NS
            first = _at(stamps, np.searchsorted(stamps, inner, "right"), AFTER_ALL)
            first = np.where(first < outer, first, AFTER_ALL)
            received[near] = np.minimum(received[near], first)
            stamps = in_order(sent)
            near = nearby.to(stamps[0], stamps[-1])
            inner, outer = start[near] + _STAMPS_NS, end[near] - _STAMPS_NS
            first = _at(stamps, np.searchsorted(stamps, inner, "right"), AFTER_ALL)
            least[near] = np.minimum(least[near], np.where(first < outer, first, AFTER_ALL))
            until = np.searchsorted(stamps, outer, "left") - 1
            last = at_or(stamps, until, BEFORE_ALL)
            most[near] = np.maximum(most[near], np.where(last > inner, last, BEFORE_ALL))
        is_twice = (least < AFTER_ALL) & (most > least + _STAMPS_NS)
        return Stamps(received, np.where(is_twice, most, AFTER_ALL))

    @cached_property
    def _bounds(self) -> Stretches:
        return read_bounds(self.packets, _STAMPS)

    def _rows(self) -> Iterator[_Rows]:
        for batch in read_batches(self.packets, _COLUMNS, _BATCH, groups=self.groups):
            rows = _came_back(batch)
            if len(rows[0]):
                yield rows


class _Nearby:
    """Which stretches a batch of packets lies in or near: all of them each time is quadratic."""

    def __init__(self, start: Ints, end: Ints) -> None:
        self._latest_end = np.maximum.accumulate(end)
        self._least_start = np.minimum.accumulate(start[::-1])[::-1]

    def to(self, first_ns: int, last_ns: int) -> slice:
        """Leave out those that end before `first_ns`, in front, and begin after `last_ns`, behind.

        The slice's ends lie between 0 and the number of stretches, its start not behind its stop.
        """
        low = int(np.searchsorted(self._latest_end, first_ns, "left"))
        high = int(np.searchsorted(self._least_start, last_ns, "right"))
        return slice(low, max(low, high))


def _came_back(batch: pa.RecordBatch) -> _Rows:
    flags, sent, received, window = (_column(batch.column(name)) for name in _COLUMNS)
    came = (flags & int(EXTRA_RECORD) == 0) & (sent != AFTER_ALL) & (received != AFTER_ALL)
    sent, received, window = sent[came], received[came], window[came]
    absent = np.where(window < _WINDOW_MOST_NS, received - window, BEFORE_ALL)
    return sent, received, absent


def _column(values: pa.Array) -> Ints:
    if values.null_count:
        values = values.fill_null(
            pa.scalar(AFTER_ALL if values.type == pa.int64() else 0, values.type)
        )
    column: Ints = values.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return column


def _at(values: Ints, index: Ints, otherwise: int) -> Ints:
    """Give the values at positions; `otherwise` for positions behind the last value."""
    found = values[np.minimum(index, len(values) - 1)]
    return np.where(index < len(values), found, otherwise)
