"""A few packets written out by hand as packets.parquet, for tests that compute the answer too."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from taut.records.layout import PacketFlag

VOID, UNSENT, LATE = PacketFlag.VOID, PacketFlag.UNSENT, PacketFlag.LATE
DUPLICATE, OUT_OF_SEQUENCE = PacketFlag.DUPLICATE, PacketFlag.OUT_OF_SEQUENCE
COLD, ORPHAN = PacketFlag.COLD, PacketFlag.ORPHAN

SCHEMA = pa.schema(
    [
        ("seq", pa.uint64()),
        ("direction", pa.uint8()),
        ("flow", pa.uint32()),
        ("frame_len", pa.uint16()),
        ("flags", pa.uint16()),
        ("due_ns", pa.int64()),
        ("sent_ns", pa.int64()),
        ("received_ns", pa.int64()),
        ("arrival_window_ns", pa.int64()),
    ]
)


def packet(
    seq: int,
    latency_ns: int | None = 1000,
    *,
    flags: int = 0,
    direction: int = 0,
    gap_ns: int = 10_000,
    sent_after_ns: int = 20,
    n_flows: int = 1,
) -> dict[str, int | None]:
    """One packet of a constant schedule; latency None means lost (or unsent, by its flag)."""
    due = seq * gap_ns
    sent = None if flags & UNSENT else due + sent_after_ns
    received = None if latency_ns is None or sent is None else sent + latency_ns
    return {
        "seq": seq,
        "direction": direction,
        "flow": seq % n_flows,
        "frame_len": 64,
        "flags": flags,
        "due_ns": due,
        "sent_ns": sent,
        "received_ns": received,
        "arrival_window_ns": 50,
    }


def extra(seq: int, flags: int, received_ns: int = 99_000) -> dict[str, int | None]:
    """A row beyond a packet's first receipt: late, duplicate or orphan.

    Of these the generator knows only of a duplicate's packet when it was sent.
    """
    row = packet(seq, flags=flags)
    if not flags & DUPLICATE:
        row["sent_ns"] = None
    return row | {"received_ns": received_ns}


def write_packets(path: Path, rows: Iterable[Mapping[str, int | None]]) -> Path:
    """Write the rows as the records package would."""
    pq.write_table(pa.Table.from_pylist(list(rows), schema=SCHEMA), path)
    return path
