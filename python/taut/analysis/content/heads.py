"""The first bytes of each matched frame, one array a byte position, and where they come from."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from taut.capture.native import HEADS
from taut.core.errors import InputError
from taut.records import parquet
from taut.records.layout import PacketFlag, RecordKind
from taut.records.raw_file import open_raw

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Sizes: TypeAlias = npt.NDArray[np.uint16] | npt.NDArray[np.int64]

# 4096 rows of 128 bytes stay in the second-level cache while they are turned.
_TURN_ROWS = 4096


@dataclass(frozen=True)
class FrameHeads:
    """Heads of n frames: `columns[j]` is byte j of every frame, 0 beyond its `n_bytes`."""

    columns: Bytes
    n_bytes: Sizes
    wire_len: Sizes

    def __len__(self) -> int:
        return len(self.wire_len)


@dataclass(frozen=True)
class MatchedFrames:
    """Matched packets in ingress order: position, time, latency, and their first bytes.

    Several captures of one device stand one after the other (kept.py), each in its own order.
    """

    position: Ints
    time_ns: Ints
    latency_ns: Ints
    heads: FrameHeads
    starts: tuple[int, ...] = (0,)
    """Index of each capture's first packet; the first capture is the one that was asked about."""

    @property
    def captures(self) -> list[slice]:
        """The packets of each capture."""
        edges = [*self.starts, len(self.position)]
        return [slice(first, end) for first, end in pairwise(edges)]


@dataclass(frozen=True)
class MatchedStamps:
    """Matched packets in ingress order, without their bytes."""

    position: Ints
    time_ns: Ints
    latency_ns: Ints


def read_heads(raw: Path, packets_parquet: Path) -> MatchedFrames:
    """Join the frames' heads in the folder `raw` with the matched, not cold packets."""
    stamps = read_stamps(packets_parquet)
    return join_heads(raw / HEADS, stamps)


def count_matched(packets_parquet: Path) -> int:
    """Count the packets that could be compared, in constant memory."""
    return sum(len(position) for position, _, _ in _matched_chunks(packets_parquet))


def read_stamps(packets_parquet: Path) -> MatchedStamps:
    """Read where and when each matched, not cold packet came in, and its latency."""
    chunks = list(_matched_chunks(packets_parquet))
    if not chunks:
        return MatchedStamps(*(np.zeros(0, np.int64) for _ in range(3)))
    position, sent_ns, received_ns = (np.concatenate(parts) for parts in zip(*chunks, strict=True))
    order = np.argsort(position, kind="stable")
    position, sent_ns, received_ns = position[order], sent_ns[order], received_ns[order]
    return MatchedStamps(position, sent_ns, received_ns - sent_ns)


def _matched_chunks(packets_parquet: Path) -> Iterator[tuple[Ints, Ints, Ints]]:
    columns = ["seq", "direction", "flags", "sent_ns", "received_ns"]
    with parquet.opened(packets_parquet) as file:
        for batch in file.iter_batches(columns=columns):
            sent, received = batch["sent_ns"], batch["received_ns"]
            keep = (
                np.asarray(sent.is_valid())
                & np.asarray(received.is_valid())
                & ((np.asarray(batch["flags"]) & PacketFlag.COLD) == 0)
                & (np.asarray(batch["direction"]) == 0)
            )
            yield (
                np.asarray(batch["seq"])[keep].astype(np.int64),
                np.asarray(sent.fill_null(0))[keep],
                np.asarray(received.fill_null(0))[keep],
            )


def join_heads(path: Path, stamps: MatchedStamps) -> MatchedFrames:
    """Find each packet's head by its position; InputError if one is missing."""
    file = open_raw(path, RecordKind.FRAME)
    if "bytes" not in (file.dtype.names or ()):
        raise InputError(f"{path}: frame records without bytes; write the heads again")
    n, n_head = len(stamps.position), file.dtype["bytes"].shape[0]
    columns = np.zeros((n_head, n), np.uint8)
    n_bytes, wire_len = np.zeros(n, np.int64), np.zeros(n, np.int64)
    is_found = np.zeros(n, bool)
    for records in file.chunks(_TURN_ROWS):
        positions = records["pos"].astype(np.int64)
        at = np.searchsorted(stamps.position, positions)
        at[at == n] = 0
        hit = (stamps.position[at] == positions) if n else np.zeros(len(at), bool)
        at = at[hit]
        columns[:, at] = records["bytes"][hit].T
        n_bytes[at], wire_len[at] = records["n_bytes"][hit], records["wire_len"][hit]
        is_found[at] = True
    if not is_found.all():
        missing = int(stamps.position[~is_found][0])
        raise InputError(
            f"{path}: no head of matched packet {missing} ({int((~is_found).sum())} missing);"
            " the files are of different runs, or the writer died"
        )
    heads = FrameHeads(columns, n_bytes, wire_len)
    return MatchedFrames(stamps.position, stamps.time_ns, stamps.latency_ns, heads)
