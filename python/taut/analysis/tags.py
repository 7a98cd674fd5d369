"""Tagged packets, as RFC 2544 and RFC 8219 have them: single packets chosen by their time alone."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from taut.records import parquet
from taut.records.layout import EXTRA_RECORD, PacketFlag

_NEVER = np.iinfo(np.int64).max
_ROWS = 1 << 20
_NONE = -1

Ints = npt.NDArray[np.int64]


class Tags(NamedTuple):
    """What became of the tagged packets."""

    latencies_ns: list[int]
    """Of those that came back, in the order of their times."""
    n_lost: int


def read_tags(packets: Path, after_ns: int, until_ns: int, n: int) -> Tags:
    """Take as tagged the first packet due in each of `n` equal stretches of time.

    They lie between `after_ns` and `until_ns` from the end of the warm-up. A stretch in which no
    packet was due has no tag.
    """
    begin_ns = _first_due(packets) + after_ns
    stretch_ns = (until_ns - after_ns) / n
    due_ns = np.full(n, _NEVER)
    latency_ns = np.full(n, _NONE)
    columns = ["due_ns", "sent_ns", "received_ns", "flags"]
    with parquet.opened(packets) as file:
        for batch in file.iter_batches(_ROWS, columns=columns):
            due, sent, received = (_ints(batch[name]) for name in columns[:3])
            stretch = np.floor((due - begin_ns) / stretch_ns).astype(np.int64)
            mine = _is_own(batch) & (sent != _NONE) & (stretch >= 0) & (stretch < n)
            due, sent, received, stretch = (of[mine] for of in (due, sent, received, stretch))
            order = np.lexsort((due, stretch))
            found, first = np.unique(stretch[order], return_index=True)
            chosen = order[first]
            is_earlier = due[chosen] < due_ns[found]
            found, chosen = found[is_earlier], chosen[is_earlier]
            due_ns[found] = due[chosen]
            is_back = received[chosen] != _NONE
            latency_ns[found] = np.where(is_back, received[chosen] - sent[chosen], _NONE)
    is_tagged = due_ns != _NEVER
    is_back = latency_ns != _NONE
    return Tags(latency_ns[is_back].tolist(), int(np.sum(is_tagged & ~is_back)))


def _first_due(packets: Path) -> int:
    """Give the time the first packet behind the warm-up was due."""
    first = _NEVER
    with parquet.opened(packets) as file:
        for batch in file.iter_batches(_ROWS, columns=["due_ns", "flags"]):
            due = _ints(batch["due_ns"])[_is_own(batch)]
            first = min(first, int(due.min(initial=_NEVER)))
    return first


def _is_own(batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    """Say which rows are packets of this run behind the warm-up, each once."""
    flags = _ints(batch["flags"])
    mine: npt.NDArray[np.bool_] = flags & int(EXTRA_RECORD | PacketFlag.COLD) == 0
    return mine


def _ints(column: pa.Array) -> Ints:
    found: Ints = pc.fill_null(column.cast(pa.int64()), _NONE).to_numpy(zero_copy_only=False)
    return found
