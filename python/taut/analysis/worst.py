"""The slowest packets of a trial, one by one: when they were sent and how long they took."""

from pathlib import Path

import pyarrow as pa

from taut.analysis.tables import load_packets
from taut.records import parquet
from taut.records.tables import PACKETS
from taut.storage.engine import Engine
from taut.storage.engines import open_engine

WORST = "worst.parquet"
"""In a trial's folder once it is analysed, where every packet was recorded."""

N_WORST = 5000

SCHEMA = pa.schema(
    [
        ("seq", pa.int64()),
        ("direction", pa.int32()),
        ("sent_ns", pa.int64()),
        ("latency_ns", pa.int64()),
        ("is_void", pa.bool_()),
    ]
)

_WORST = """
SELECT seq, direction, sent_ns, received_ns - sent_ns AS latency_ns, is_void
FROM packet
WHERE received_ns IS NOT NULL AND NOT is_cold
ORDER BY received_ns - sent_ns DESC, seq, direction"""


def worst_packets(engine: Engine, packets: Path, n: int = N_WORST) -> pa.Table:
    """Return the n packets with the highest service latency, slowest first."""
    load_packets(engine, packets)
    return engine.query(f"{_WORST} LIMIT {n}").cast(SCHEMA)


def has_worst(trial: Path) -> bool:
    """Whether `read_worst` has anything to read."""
    return (trial / WORST).is_file() or (trial / PACKETS).is_file()


def read_worst(trial: Path, n: int) -> pa.Table:
    """Read the n slowest packets of an analysed trial; an older analysis left all packets only."""
    if n <= N_WORST and (trial / WORST).is_file():
        return parquet.read_table(trial / WORST).slice(0, n)
    with open_engine("duckdb") as engine:
        return worst_packets(engine, trial / PACKETS, n)
