#!/usr/bin/env python3
"""How long each engine takes for all metrics of a trial, by its number of packets.

    .venv/bin/python bench/engines.py [--packets 100000,1000000,10000000] [--repetitions 3]

Engines take turns.  PostgreSQL and Spark are the servers of tests/servers.py, on this machine: the
figures say what an engine costs, not what a cluster of many machines gains.  Loading is part of
the time: PostgreSQL copies the packets, the others read Parquet where it lies.
"""

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from harness import progress, spread, table

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
import servers
from taut.analysis.distribution import measure_packets
from taut.storage.engines import open_engine

CHUNK = 1_000_000
GAP_NS = 10_000


def main() -> None:
    """Print one table: a row a size, a column an engine."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--packets", default="100000,1000000,10000000")
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    sizes = [int(word) for word in options.packets.split(",")]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="taut-bench-")))
        engines = {
            "duckdb": None,
            "postgres": stack.enter_context(servers.postgres_server()),
            "spark": stack.enter_context(servers.spark_cluster()),
        }
        rows = [_row(_write_packets(folder, n), n, engines, options.repetitions) for n in sizes]
    print("All metrics of one trial, loading included, seconds (the first open of Spark is not).\n")
    table(["packets", *engines], rows)


def _row(packets: Path, n: int, engines: dict[str, str | None], repetitions: int) -> list[str]:
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    found = {}
    for _ in range(repetitions):
        for name, url in engines.items():
            with open_engine(name, url) as engine:
                before = time.monotonic()
                found[name] = measure_packets(engine, packets, 1)
                seconds[name].append(time.monotonic() - before)
            progress(f"{n} packets, {name}: {seconds[name][-1]:.2f} s")
    if any(m.distribution != found["duckdb"].distribution for m in found.values()):
        sys.exit("engines: they disagree; run tests/storage/test_conformance.py")
    return [f"{n:,}", *(spread(of, 2) for of in seconds.values())]


def _write_packets(folder: Path, n: int) -> Path:
    """A trial without faults: 3 us with a spread of 100 ns and a tail."""
    rng = np.random.default_rng(1)
    path = folder / f"packets_{n}.parquet"
    writer = None
    for first in range(0, n, CHUNK):
        rows = min(CHUNK, n - first)
        seq = np.arange(first, first + rows, dtype=np.uint64)
        due = seq.astype(np.int64) * GAP_NS
        sent = due + rng.integers(10, 60, rows)
        tail = (rng.uniform(size=rows) < 0.001) * rng.exponential(20_000, rows)
        latency = 3_000 + rng.gamma(2.0, 50.0, rows) + tail
        columns = {
            "seq": seq,
            "direction": np.zeros(rows, np.uint8),
            "flow": np.zeros(rows, np.uint32),
            "frame_len": np.full(rows, 64, np.uint16),
            "flags": np.zeros(rows, np.uint16),
            "due_ns": due,
            "sent_ns": sent,
            "received_ns": sent + latency.astype(np.int64),
            "arrival_window_ns": rng.integers(20, 90, rows),
        }
        chunk = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, chunk.schema, compression="zstd")
        writer.write_table(chunk)
    if writer is not None:
        writer.close()
    return path


if __name__ == "__main__":
    main()
