"""Packets again from packets.parquet, in blocks: what taut-count reads."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from taut.core.errors import InputError
from taut.records import parquet
from taut.records.layout import (
    CLOCK_POINT,
    EXTRA_RECORD,
    FILE_HEADER,
    MAGIC,
    PACKET_BLOCK,
    PACKET_BLOCK_SIZE,
    VERSION,
    PacketFlag,
    RecordKind,
)
from taut.records.raw_file import Records

# Sixteen blocks: few enough to be copied while they are in the cache.
_BATCH_ROWS = 16 * PACKET_BLOCK_SIZE

_TIMES = ("due_ns", "sent_ns", "received_ns")
_COLUMNS = ["seq", *_TIMES, "arrival_window_ns", "flags", "direction"]
_NEVER = np.iinfo(np.int64).min


class NotForOnePassError(InputError):
    """Records that cannot be counted in one pass; an engine counts them, or says what is wrong."""


def header_of_blocks() -> bytes:
    """Give the header of a file of blocks; it says nothing of how many."""
    header = np.zeros(1, FILE_HEADER)
    header["magic"], header["version"], header["kind"] = MAGIC, VERSION, RecordKind.PACKET_BLOCK
    header["record_size"] = PACKET_BLOCK.itemsize
    header["first"] = np.array((1, 0, 0), CLOCK_POINT)
    header["last"] = np.array((10**9 + 1, 10**9, 0), CLOCK_POINT)
    return header.tobytes()


def restored(packets: Path, late_above_ns: int | None = None) -> Iterator[Records]:
    """Give blocks of the packets of packets.parquet, in its order.

    With `late_above_ns` only those an episode is made of: packets after the warm-up that took
    longer, or that did not come. NotForOnePassError where a time is the one that means never.
    """
    # Read ahead, the compressed file would pile up in memory, all of it.
    with parquet.opened(packets, pre_buffer=False, buffer_size=1 << 16) as file:
        for batch in file.iter_batches(_BATCH_ROWS, columns=_COLUMNS):
            chosen = batch if late_above_ns is None else batch.filter(_hit(batch, late_above_ns))
            yield _blocks(chosen)


def likely_median_ns(packets: Path) -> int:
    """Give the median latency of some packets in the middle of packets.parquet; 0 of none."""
    with parquet.opened(packets) as file:
        if not file.num_row_groups:
            return 0
        rows = file.read_row_group(file.num_row_groups // 2, columns=["sent_ns", "received_ns"])
    latencies = pc.subtract(rows["received_ns"], rows["sent_ns"]).drop_null().to_numpy()
    return int(np.median(latencies)) if len(latencies) else 0


def _hit(batch: pa.RecordBatch, late_above_ns: int) -> pa.Array:
    flags = batch["flags"].to_numpy()
    sent, received = batch["sent_ns"], batch["received_ns"]
    late = pc.greater(pc.subtract(received, sent), late_above_ns)
    missing = pc.fill_null(late, True)
    return pc.and_(missing, pa.array(flags & int(EXTRA_RECORD | PacketFlag.COLD) == 0))


def _blocks(batch: pa.RecordBatch) -> Records:
    n_full, n_rest = divmod(batch.num_rows, PACKET_BLOCK_SIZE)
    blocks = np.empty(n_full + (n_rest > 0), PACKET_BLOCK)
    blocks["n"] = PACKET_BLOCK_SIZE
    if n_rest:
        blocks[-1] = 0
        blocks["n"][-1] = n_rest
    for name in _COLUMNS:
        values = (_times(batch[name]) if name in _TIMES else batch[name]).to_numpy()
        full, rest = np.split(values, [n_full * PACKET_BLOCK_SIZE])
        blocks[name][:n_full] = full.reshape(n_full, PACKET_BLOCK_SIZE)
        if n_rest:
            blocks[name][-1, :n_rest] = rest
    return blocks


def _times(times: pa.Array) -> pa.Array:
    if pc.min(times).as_py() == _NEVER:
        raise NotForOnePassError("packets.parquet: a time centuries away from the run's start")
    return pc.fill_null(times, _NEVER) if times.null_count else times
