"""A packets.parquet of a few rows, each as a test writes it."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

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


def write_rows(folder: Path, rows: list[dict[str, int | None]]) -> Path:
    """Write them in this order, in several groups."""
    path = folder / "packets.parquet"
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), path, row_group_size=7)
    return path
