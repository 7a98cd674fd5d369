"""A few packets written out by hand as packets.parquet, for tests that compute the answer too."""

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
    """A row beyond a packet's first receipt: late, duplicate or orphan."""
    return packet(seq, flags=flags) | {"sent_ns": None, "received_ns": received_ns}


# What made runs do not have: stamps before the start, both directions, captures without a due
# time, negative latencies, overtaking, episodes of equal length, numbers beyond 63 bits.
HARD = [
    *(packet(s, 1000 - 300 * s, flags=COLD, gap_ns=-(10**9)) for s in range(5)),
    *(packet(s, 1000 + 7 * (s % 13), direction=s % 2, n_flows=2) for s in range(5, 300)),
    *(packet(s, 90_000, flags=VOID * (s % 3 == 0)) for s in range(300, 305)),
    *(packet(s, 90_000, direction=1) for s in range(310, 315)),
    packet(320, None),
    packet(321, None, flags=UNSENT),
    packet(322, 400_000, flags=OUT_OF_SEQUENCE),
    *(packet(s, -50) | {"due_ns": None} for s in range(330, 340)),
    packet(341, 2**40),
    extra(5, LATE),
    extra(6, DUPLICATE | COLD),
    extra(0, ORPHAN, received_ns=1) | {"seq": 2**64 - 1},
]


def write_packets(path: Path, rows: list[dict[str, int | None]]) -> Path:
    """Write the rows as the records package would."""
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), path)
    return path


def write_gaps(path: Path, gaps: list[tuple[int, int, str]]) -> Path:
    """Write logged gaps: start, end, thread."""
    table = {
        "start_ns": pa.array([g[0] for g in gaps], pa.int64()),
        "end_ns": pa.array([g[1] for g in gaps], pa.int64()),
        "thread": pa.array([g[2] for g in gaps], pa.string()),
        "n_packets": pa.array([0 for _ in gaps], pa.uint32()),
    }
    pq.write_table(pa.table(table), path)
    return path
