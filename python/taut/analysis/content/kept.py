"""Frames kept in the run directory, so that later captures of the device are searched with them.

A Parquet file with one column a byte position: what does not vary costs nothing.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from taut.analysis.content.heads import Bytes, FrameHeads, MatchedFrames
from taut.core.errors import InputError
from taut.core.files import whole
from taut.records import parquet

_PLAIN = ("position", "time_ns", "latency_ns", "n_bytes", "wire_len")


def keep_frames(frames: MatchedFrames, path: Path) -> None:
    """Write the frames of one capture."""
    heads = frames.heads
    plain = (frames.position, frames.time_ns, frames.latency_ns, heads.n_bytes, heads.wire_len)
    columns = {name: values.astype(np.int64) for name, values in zip(_PLAIN, plain, strict=True)}
    columns |= {f"byte_{j}": values for j, values in enumerate(heads.columns)}
    with whole(path) as temporary:
        pq.write_table(pa.table(columns), temporary, compression="zstd")


def count_kept(path: Path) -> int:
    """Count the frames in such a file; InputError where it is damaged."""
    return int(parquet.read_metadata(path).num_rows)


def read_kept(path: Path) -> MatchedFrames:
    """Read the frames back; InputError where the file is damaged."""
    table = parquet.read_table(path)
    try:
        position, time_ns, latency_ns, n_bytes, wire_len = (
            table[name].to_numpy() for name in _PLAIN
        )
        n_head = len(table.column_names) - len(_PLAIN)
        columns = np.empty((n_head, len(table)), np.uint8)
        for j in range(n_head):
            columns[j] = table[f"byte_{j}"].to_numpy()
    except KeyError as error:
        raise InputError(f"{path}: damaged ({error.args[0]}); analyse the captures again") from None
    return MatchedFrames(position, time_ns, latency_ns, FrameHeads(columns, n_bytes, wire_len))


def join_captures(captures: Sequence[MatchedFrames]) -> MatchedFrames:
    """Put captures of one device one after the other; those without packets are left out."""
    captures = [captures[0], *(capture for capture in captures[1:] if len(capture.position))]
    if len(captures) == 1:
        return captures[0]
    n_head = max(len(capture.heads.columns) for capture in captures)
    heads = FrameHeads(
        np.concatenate([_of_height(c.heads.columns, n_head) for c in captures], axis=1),
        np.concatenate([c.heads.n_bytes for c in captures]),
        np.concatenate([c.heads.wire_len for c in captures]),
    )
    sizes = [len(capture.position) for capture in captures]
    starts = tuple(np.cumsum([0, *sizes[:-1]]).tolist())
    position, time_ns, latency_ns = (
        np.concatenate(parts)
        for parts in zip(*((c.position, c.time_ns, c.latency_ns) for c in captures), strict=True)
    )
    return MatchedFrames(position, time_ns, latency_ns, heads, starts)


def _of_height(columns: Bytes, n_head: int) -> Bytes:
    return np.pad(columns, ((0, n_head - len(columns)), (0, 0)))
