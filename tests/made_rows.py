"""A packets.parquet of a few rows, each as a test writes it."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from taut.records.layout import PacketFlag

SCHEMA = pa.schema(
    [
        ("seq", pa.uint64()),
        ("direction", pa.uint8()),
        ("due_ns", pa.int64()),
        ("sent_ns", pa.int64()),
        ("received_ns", pa.int64()),
        ("flags", pa.uint16()),
    ]
)


def row(
    seq: int,
    due: int,
    received: int | None,
    *,
    sent: int | None = 0,
    flags: int = 0,
    direction: int = 0,
) -> dict[str, int | None]:
    """One packet, sent when it was due; `sent` None: the link refused it."""
    return {
        "seq": seq,
        "direction": direction,
        "due_ns": due,
        "sent_ns": None if sent is None else due,
        "received_ns": received,
        "flags": flags,
    }


def extras(of: dict[str, int | None], received: int) -> list[dict[str, int | None]]:
    """Beside a packet's own row: its duplicate, stamped as it is, a late one and a stranger."""
    late, orphan = int(PacketFlag.LATE), int(PacketFlag.ORPHAN)
    seq, direction = of["seq"] or 0, of["direction"] or 0
    return [
        of | {"received_ns": received, "flags": int(PacketFlag.DUPLICATE)},
        row(seq + 1, -5_000, received, sent=None, flags=late, direction=direction),
        row(seq + 10**6, -10_000, received, sent=None, flags=orphan, direction=direction),
    ]


def write_rows(folder: Path, rows: list[dict[str, int | None]]) -> Path:
    """Write them in this order, in several groups."""
    path = folder / "packets.parquet"
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), path, row_group_size=7)
    return path
