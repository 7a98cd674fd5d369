"""The slowest packets of a trial, one by one: when they were sent and how long they took."""

from pathlib import Path

import pyarrow as pa

from taut.analysis.tables import load_packets
from taut.storage.engine import Engine

N_WORST = 5000

_WORST = """
SELECT seq, direction, sent_ns, received_ns - sent_ns AS latency_ns, is_void
FROM packet
WHERE received_ns IS NOT NULL AND NOT is_cold
ORDER BY received_ns - sent_ns DESC, seq, direction"""


def worst_packets(engine: Engine, packets: Path, n: int = N_WORST) -> pa.Table:
    """Return the n packets with the highest service latency, slowest first."""
    load_packets(engine, packets)
    return engine.query(f"{_WORST} LIMIT {n}")
