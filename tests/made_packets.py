"""Packets that made runs do not have; those of taut.testing, under the name our tests have."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from taut.testing.packets import COLD as COLD
from taut.testing.packets import DUPLICATE as DUPLICATE
from taut.testing.packets import LATE as LATE
from taut.testing.packets import ORPHAN as ORPHAN
from taut.testing.packets import OUT_OF_SEQUENCE as OUT_OF_SEQUENCE
from taut.testing.packets import SCHEMA as SCHEMA
from taut.testing.packets import UNSENT as UNSENT
from taut.testing.packets import VOID as VOID
from taut.testing.packets import extra as extra
from taut.testing.packets import packet as packet
from taut.testing.packets import write_packets as write_packets

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
