"""Packet records again from packets.parquet, a nanosecond a tick: what taut-count reads."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from taut.core.errors import InputError
from taut.records.layout import (
    CLOCK_POINT,
    EXTRA_RECORD,
    FILE_HEADER,
    MAGIC,
    PACKET,
    VERSION,
    PacketFlag,
    RecordKind,
)
from taut.records.raw_file import Records

# No time of a trial is 0 ticks then, which means never; as in dataplane/capture/match_results.c.
_EPOCH_TSC = 1 << 62

# What a record copies while it is in the cache: two megabytes of columns, three of records.
_BATCH_ROWS = 1 << 16

_TIMES = (("due_ns", "due_tsc"), ("sent_ns", "sent_tsc"), ("received_ns", "received_tsc"))
_COPIED = ("seq", "direction", "flags")
_READ = [*_COPIED, *(name for name, _ in _TIMES), "arrival_window_ns"]


class NotForOnePassError(InputError):
    """Records that cannot be counted in one pass; an engine counts them, or says what is wrong."""


def header_in_ns() -> bytes:
    """Give the header of a record file whose ticks are nanoseconds; it says nothing of how many."""
    header = np.zeros(1, FILE_HEADER)
    header["magic"], header["version"], header["kind"] = MAGIC, VERSION, RecordKind.PACKET
    header["record_size"], header["epoch_tsc"] = PACKET.itemsize, _EPOCH_TSC
    header["first"] = np.array((1, 0, 0), CLOCK_POINT)
    header["last"] = np.array((10**9 + 1, 10**9, 0), CLOCK_POINT)
    return header.tobytes()


def restored(packets: Path, late_above_ns: int | None = None) -> Iterator[Records]:
    """Give the records of packets.parquet, without flow and length of a frame, in its order.

    With `late_above_ns` only those an episode is made of: packets after the warm-up that took
    longer, or that did not come. NotForOnePassError where a record cannot hold a time.
    """
    with pq.ParquetFile(packets) as file:
        for batch in file.iter_batches(_BATCH_ROWS, columns=_READ):
            chosen = batch if late_above_ns is None else batch.filter(_hit(batch, late_above_ns))
            if chosen.num_rows:
                yield _records(chosen)


def likely_median_ns(packets: Path) -> int:
    """Give the median latency of some packets in the middle of packets.parquet; 0 of none."""
    with pq.ParquetFile(packets) as file:
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


def _records(batch: pa.RecordBatch) -> Records:
    records = np.zeros(batch.num_rows, PACKET)
    for name in _COPIED:
        records[name] = batch[name].to_numpy()
    for name, field in _TIMES:
        records[field] = _ticks(batch[name])
    window = batch["arrival_window_ns"].to_numpy()
    if len(window) and not 0 <= window.min() <= window.max() <= np.iinfo(np.uint32).max:
        raise NotForOnePassError(
            "packets.parquet: an arrival window of no port; the file is damaged"
        )
    records["arrival_window"] = window
    return records


def _ticks(times: pa.Array) -> npt.NDArray[np.uint64]:
    """Give nanoseconds as ticks, 0 where there is no time."""
    if times.null_count == len(times):
        return np.zeros(len(times), np.uint64)
    known = times if times.null_count == 0 else pc.fill_null(times, 0)
    ns = known.to_numpy()
    # Where the difference of two is sure to fit 64 bits.
    if not -_EPOCH_TSC < ns.min() <= ns.max() < _EPOCH_TSC:
        raise NotForOnePassError("packets.parquet: a time centuries away from the run's start")
    ticks: npt.NDArray[np.uint64] = (ns + _EPOCH_TSC).view(np.uint64)
    if times.null_count:
        ticks *= times.is_valid().to_numpy(zero_copy_only=False)
    return ticks
