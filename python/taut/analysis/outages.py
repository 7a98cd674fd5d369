"""When packets were lost, and when none came at all: recovery and reset, from a trial's records."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from taut.analysis.own_packets import NONE, Ints, own_packets
from taut.records.layout import PacketFlag

_NEVER = int(np.iinfo(np.int64).max)

_RECOVERED = 1_000
"""A device that let so many packets pass without losing one has recovered."""


class Losses(NamedTuple):
    """Packets lost, or refused by the link, before a time and after it."""

    before: int
    after: int
    last_ns: int | None
    """From that time to the sending of the last one lost after it; None: none was."""
    void_after: int = 0
    """Lost after it while the generator was held up: in none of the numbers above."""
    back_between: int = _RECOVERED
    """Packets that came back between the last one lost and the first void one behind that."""

    @property
    def recovery_ns(self) -> int | None:
        """The time to the last one lost, 0 where none was; None: it may be one that is void.

        Not where the device let enough pass before those: it had recovered.
        """
        return None if self.back_between < _RECOVERED else self.last_ns or 0


class Silence(NamedTuple):
    """The longest time in which no packet was received, stalls of the generator left out."""

    longest_ns: int | None
    """None: nothing came any more at the end, or nothing came at all."""
    lost: int
    lost_void: int = 0
    """Lost while the generator was held up: not among `lost`."""
    may_be_generators: bool = False
    """All that was lost in the longest, or in one at the end, is void: nobody knows whose it is."""


class _Rows(NamedTuple):
    direction: Ints
    due: Ints
    sent: Ints
    received: Ints
    flags: Ints


class _Lost(NamedTuple):
    """Packets lost or refused, those of the warm-up left out; with the first departure of all."""

    begin: int
    at: Ints
    direction: npt.NDArray[np.int8]
    is_void: npt.NDArray[np.bool_]


_COLUMNS = ["direction", "due_ns", "sent_ns", "received_ns", "flags"]


def read_losses(packets: Path, at_ns: int) -> Losses:
    """Count losses before and after a time, which counts from the first departure.

    What was lost while the generator was held up is counted apart: the fault may be its own. The
    warm-up is left out: what a device that has just started loses is no loss under a load.
    """
    lost = _read_lost(packets)
    since_ns = lost.begin + at_ns
    of_own, of_void = (lost.at[lost.is_void == is_void] - since_ns for is_void in (False, True))
    before, after, last_ns = _sides(of_own)
    found = Losses(before, after, last_ns, void_after=_sides(of_void)[1])
    behind = of_void[of_void > (last_ns or 0)]
    if not len(behind):
        return found
    span = since_ns + (last_ns or 0), since_ns + int(behind.min())
    return found._replace(back_between=_count_back(packets, *span))


def _read_lost(packets: Path) -> _Lost:
    begin = _NEVER
    at, direction, is_void = [], [], []
    for rows in _blocks(packets):
        begin = min(begin, int(rows.due.min(initial=_NEVER)))
        lost = (rows.received == NONE) & (rows.flags & int(PacketFlag.COLD) == 0)
        at.append(np.where(rows.sent == NONE, rows.due, rows.sent)[lost])
        # Of a minute's overload they are tens of millions.
        direction.append(rows.direction[lost].astype(np.int8))
        is_void.append(rows.flags[lost] & int(PacketFlag.VOID) != 0)
    return _Lost(begin, *(np.concatenate(parts) for parts in (at, direction, is_void)))


def _count_back(packets: Path, after_ns: int, before_ns: int) -> int:
    """Count packets that were sent between two times and came back."""
    return sum(
        int(np.sum((rows.received != NONE) & (rows.sent > after_ns) & (rows.sent < before_ns)))
        for rows in _blocks(packets)
    )


def _sides(since: Ints) -> tuple[int, int, int | None]:
    """Count times before 0 and from it on, and give the last."""
    after = since[since >= 0]
    return len(since) - len(after), len(after), int(after.max()) if len(after) else None


def read_silence(packets: Path) -> Silence:
    """Give the longest time without a packet behind the warm-up, in the worse direction.

    One that ends with a void packet is the generator's own, unless packets were lost in it; where
    all of these are void, it may be.
    """
    lost = _read_lost(packets)
    ways: dict[int, _Way] = {}
    for rows in _blocks(packets):
        counted = rows.flags & int(PacketFlag.COLD) == 0
        for way in np.unique(rows.direction[counted]).tolist():
            mine = counted & (rows.direction == way)
            if way not in ways:
                here = lost.direction == way
                of_own, of_void = (
                    np.sort(lost.at[here & (lost.is_void == is_void)]) for is_void in (False, True)
                )
                ways[way] = _Way(of_own, of_void)
            ways[way] = _follow(ways[way], _Rows(*(of[mine] for of in rows)))
    # Where the silence lasts to the end, nobody knows how long it would have been.
    lasting = any(
        way.last == NONE or way.last_due - way.last > way.longest for way in ways.values()
    )
    longest = max((way.longest for way in ways.values()), default=0)
    doubtful = max((way.doubtful for way in ways.values()), default=0)
    at_end = max(
        (int(way.void_at.max(initial=NONE)) - way.last for way in ways.values()), default=0
    )
    n_void = int(np.sum(lost.is_void))
    n_lost = len(lost.at) - n_void
    if lasting or not ways:
        return Silence(None, n_lost, n_void)
    return Silence(
        max(longest, doubtful), n_lost, n_void, may_be_generators=max(doubtful, at_end) > longest
    )


class _Way(NamedTuple):
    lost_at: Ints  # in order; without void ones, as `last_due` is
    void_at: Ints  # the void ones
    last: int = NONE  # receipt
    last_sent: int = NONE  # of the packet received then
    last_due: int = NONE
    longest: int = 0
    doubtful: int = 0  # the longest in which void packets alone were lost


def _follow(way: _Way, rows: _Rows) -> _Way:
    """Add a block of one direction; receipts lie in their order, but for those of one poll."""
    is_own = rows.flags & int(PacketFlag.VOID) == 0
    last_due = max(way.last_due, int(rows.due[is_own].max(initial=NONE)))
    order = np.lexsort((rows.sent, rows.received))
    order = order[rows.received[order] != NONE]
    if len(order) == 0:
        return way._replace(last_due=last_due)
    came, sent = rows.received[order], rows.sent[order]
    silent = np.diff(came, prepend=came[0] if way.last == NONE else way.last)
    at = np.append(way.last_sent, sent)
    has_lost, has_void = (
        np.diff(np.searchsorted(lost, at)) > 0 for lost in (way.lost_at, way.void_at)
    )
    is_told = is_own[order] | has_lost
    return way._replace(
        last=int(came[-1]),
        last_sent=int(sent[-1]),
        last_due=last_due,
        longest=max(way.longest, int(silent[is_told].max(initial=0))),
        doubtful=max(way.doubtful, int(silent[~is_told & has_void].max(initial=0))),
    )


def _blocks(packets: Path) -> Iterator[_Rows]:
    """Read the packets of this run, those of the warm-up, too: the first departure may be one."""
    for columns in own_packets(packets, _COLUMNS, with_cold=True):
        yield _Rows(*columns)
