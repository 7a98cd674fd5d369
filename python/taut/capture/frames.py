"""Frames of a capture as rows: what the engines match, from the frame records of `taut-match`.

A row is one frame: its place in the file, its time stamp, its clock and its key
(docs/matching.md). The key of a truncated frame is null.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from taut.core.errors import InputError
from taut.records.layout import FrameFlag, RecordKind
from taut.records.raw_file import Records, open_raw

# As `taut-match --keys` names them.
INGRESS_KEYS_FILE = "ingress_keys.bin"
EGRESS_KEYS_FILE = "egress_keys.bin"

_LONGEST_FRAME = 0xFFFF  # as in packet records, which have 16 bits for it

FRAME_SCHEMA = pa.schema(
    [
        pa.field("pos", pa.int64(), nullable=False),
        pa.field("ts_ns", pa.int64(), nullable=False),
        pa.field("clock_ns", pa.int64(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("frame_len", pa.int32(), nullable=False),
    ]
)


def write_frames(raw: Path, parquet: Path) -> None:
    """Write the frame records of `raw` as Parquet, at constant memory.

    The file has its name before it is whole: the caller keeps it in a temporary folder.
    """
    file = open_raw(raw, RecordKind.FRAME)
    # Keys differ by definition: a dictionary of them would only cost time.
    plain = {"compression": "zstd", "use_dictionary": False}
    with pq.ParquetWriter(parquet, FRAME_SCHEMA, **plain) as writer:
        for records in file.chunks():
            writer.write_table(_table(raw, records))


def _table(raw: Path, records: Records) -> pa.Table:
    return pa.table(
        [
            records["pos"].astype(np.int64),
            records["ts_ns"],
            records["clock_ns"],
            _keys(raw, records),
            np.minimum(records["wire_len"], _LONGEST_FRAME).astype(np.int32),
        ],
        schema=FRAME_SCHEMA,
    )


def _keys(raw: Path, records: Records) -> pa.Array:
    """Cut each key out of its fixed field, without a Python object a frame."""
    n_frames = len(records)
    room = records["bytes"] if "bytes" in (records.dtype.names or ()) else np.empty((n_frames, 0))
    is_truncated = records["flags"] & FrameFlag.TRUNCATED != 0
    lengths = np.where(is_truncated, 0, records["n_bytes"]).astype(np.int32)
    if n_frames and lengths.max() > room.shape[1]:
        raise InputError(
            f"{raw}: a key of {lengths.max()} bytes in a field of {room.shape[1]};"
            " the file is damaged, match the captures again"
        )
    offsets = np.zeros(n_frames + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    data = room[np.arange(room.shape[1]) < lengths[:, np.newaxis]].astype(np.uint8)
    validity = pa.py_buffer(np.packbits(~is_truncated, bitorder="little"))
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), n_frames, buffers)
