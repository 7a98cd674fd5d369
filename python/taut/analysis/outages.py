"""When packets were lost, and when none came at all: recovery and reset, from a trial's records."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

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
    """The longest time in which no packet was received."""

    longest_ns: int | None
    """None: nothing came any more at the end, or nothing came at all."""
    lost: int


class _Rows(NamedTuple):
    direction: Ints
    due: Ints
    sent: Ints
    received: Ints
    flags: Ints


_COLUMNS = ["direction", "due_ns", "sent_ns", "received_ns", "flags"]


def read_losses(packets: Path, at_ns: int) -> Losses:
    """Count losses before and after a time, which counts from the first departure.

    What was lost while the generator was held up is counted apart: the fault may be its own. The
    warm-up is left out: what a device that has just started loses is no loss under a load.
    """
    begin = _NEVER
    own: list[Ints] = [np.empty(0, np.int64)]
    void: list[Ints] = [np.empty(0, np.int64)]
    for rows in _blocks(packets):
        begin = min(begin, int(rows.due.min(initial=_NEVER)))
        lost = (rows.received == NONE) & (rows.flags & int(PacketFlag.COLD) == 0)
        is_void = rows.flags & int(PacketFlag.VOID) != 0
        tried = np.where(rows.sent == NONE, rows.due, rows.sent)
        own.append(tried[lost & ~is_void])
        void.append(tried[lost & is_void])
    of_own, of_void = (np.concatenate(times) - begin - at_ns for times in (own, void))
    before, after, last_ns = _sides(of_own)
    found = Losses(before, after, last_ns, void_after=_sides(of_void)[1])
    behind = of_void[of_void > (last_ns or 0)]
    if not len(behind):
        return found
    since_ns = begin + at_ns
    span = since_ns + (last_ns or 0), since_ns + int(behind.min())
    return found._replace(back_between=_count_back(packets, *span))


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
    """Give the longest time without a packet behind the warm-up, in the worse direction."""
    lost = 0
    ways: dict[int, _Way] = {}
    for rows in _blocks(packets):
        counted = rows.flags & int(PacketFlag.COLD) == 0
        lost += int(np.sum(counted & (rows.received == NONE)))
        for way in np.unique(rows.direction[counted]):
            mine = counted & (rows.direction == way)
            before = ways.get(int(way), _Way())
            ways[int(way)] = _follow(before, rows.due[mine], rows.received[mine])
    # Where the silence lasts to the end, nobody knows how long it would have been.
    lasting = any(
        way.last == NONE or way.last_due - way.last > way.longest for way in ways.values()
    )
    longest = max((way.longest for way in ways.values()), default=0)
    return Silence(None if lasting or not ways else longest, lost)


class _Way(NamedTuple):
    last: int = NONE  # receipt
    last_due: int = NONE
    longest: int = 0


def _follow(way: _Way, due: Ints, received: Ints) -> _Way:
    """Add a block of one direction; receipts lie in their order, but for those of one poll."""
    came = np.sort(received[received != NONE])
    last_due = max(way.last_due, int(due.max(initial=NONE)))
    if len(came) == 0:
        return way._replace(last_due=last_due)
    first = int(came[0]) - way.last if way.last != NONE else 0
    longest = max(way.longest, first, int(np.max(np.diff(came), initial=0)))
    return _Way(int(came[-1]), last_due, longest)


def _blocks(packets: Path) -> Iterator[_Rows]:
    """Read the packets of this run, those of the warm-up, too: the first departure may be one."""
    for columns in own_packets(packets, _COLUMNS, with_cold=True):
        yield _Rows(*columns)
