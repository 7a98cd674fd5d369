"""Tagged packets, as RFC 2544 and RFC 8219 have them: single packets chosen by their time alone."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from taut.analysis.own_packets import NONE, own_packets
from taut.records.layout import PacketFlag

_NEVER = np.iinfo(np.int64).max
_COLUMNS = ["due_ns", "sent_ns", "received_ns", "flags"]


class Tags(NamedTuple):
    """What became of the tagged packets."""

    latencies_ns: list[int]
    """Of those that came back, in the order of their times."""
    n_lost: int
    n_void: int = 0
    """The generator was late with them: among neither of those, whatever became of them."""


def read_tags(packets: Path, after_ns: int, until_ns: int, n: int) -> Tags:
    """Take as tagged the first packet due in each of `n` equal stretches of time.

    They lie between `after_ns` and `until_ns` from the end of the warm-up. A stretch in which no
    packet was due has no tag.
    """
    first_ns = _first_due(packets)
    if first_ns is None:
        return Tags([], 0)
    begin_ns = first_ns + after_ns
    stretch_ns = (until_ns - after_ns) / n
    due_ns = np.full(n, _NEVER)
    latency_ns = np.full(n, NONE)
    is_void = np.full(n, False)
    for due, sent, received, flags in own_packets(packets, _COLUMNS):
        stretch = np.floor((due - begin_ns) / stretch_ns).astype(np.int64)
        mine = (sent != NONE) & (stretch >= 0) & (stretch < n)
        due, sent, received, flags, stretch = (
            of[mine] for of in (due, sent, received, flags, stretch)
        )
        order = np.lexsort((due, stretch))
        found, first = np.unique(stretch[order], return_index=True)
        chosen = order[first]
        is_earlier = due[chosen] < due_ns[found]
        found, chosen = found[is_earlier], chosen[is_earlier]
        due_ns[found] = due[chosen]
        is_back = received[chosen] != NONE
        latency_ns[found] = np.where(is_back, received[chosen] - sent[chosen], NONE)
        is_void[found] = flags[chosen] & int(PacketFlag.VOID) != 0
    is_own = (due_ns != _NEVER) & ~is_void
    is_back = latency_ns != NONE
    return Tags(
        latency_ns[is_own & is_back].tolist(), int(np.sum(is_own & ~is_back)), int(np.sum(is_void))
    )


def _first_due(packets: Path) -> int | None:
    """Give the time the first packet behind the warm-up was due; None: there is none."""
    first = _NEVER
    for [due] in own_packets(packets, ["due_ns"]):
        first = min(first, int(due.min(initial=_NEVER)))
    return None if first == _NEVER else first
