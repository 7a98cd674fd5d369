#!/usr/bin/env python3
"""How long `taut report` takes to analyse a trial, by its number of packets, and in what memory.

    .venv/bin/python bench/analysis.py [--packets 30000000] [--repetitions 3] [--check]

The trial is made up: 500 kpkt/s over a path that stalls, with lost and void packets, written as
they come back, a lost one a deadline later.  Times are of the whole process, start-up and report
included, files in the page cache, beside what the processors had to do; memory is that of all its
processes at one time, in a run of its own.  --check has DuckDB count the same packets, and wants
every number to be the same.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from harness import progress, spread, table
from processes import run_process

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from made_run import MadeTrial, MadeVariant, make_run
from taut.records.clock import ClockFit
from taut.records.convert import PACKET_SCHEMA, packet_tables, write_parquet
from taut.records.layout import PACKET, PacketFlag

TAUT = Path(__file__).resolve().parents[1] / "bin" / "taut"
CHUNK = 1 << 20
GAP_NS = 2_000
DEADLINE_NS = 100_000_000
N_COLD = 500_000
STALLS_PER_CHUNK = 40
STALL_NS = 300_000
LOST, VOID = 2e-5, 1e-3


def main() -> None:
    """Print one table: a row a size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--packets", default="30000000", help="sizes, separated by commas")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="taut-bench-", dir="/var/tmp") as folder:
        sizes = [int(word) for word in options.packets.split(",")]
        rows = [_row(Path(folder) / str(n), n, options.repetitions, options.check) for n in sizes]
    table(["packets", "seconds", "of the processors", "memory, MiB"], rows)


def _row(folder: Path, n: int, repetitions: int, check: bool) -> list[str]:
    folder.mkdir()
    run = folder / "run"
    _make(run, n)
    progress(f"{n:,} packets made")
    seconds, processor_s = [], []
    for _ in range(repetitions):
        done = run_process(_command(run), folder)
        seconds.append(done.seconds)
        processor_s.append(done.processor_s)
        progress(f"{n:,} packets: {done.seconds:.2f} s, of the processors {done.processor_s:.2f} s")
    peak = run_process(_command(run), folder, sampled=True)
    if check and _numbers(peak.document) != _numbers(run_process(_duckdb(run), folder).document):
        sys.exit("analysis: DuckDB counts other numbers; run tests/analysis/test_one_pass.py")
    memory = f"{peak.at_once_kib / 1024:.0f}"
    return [f"{n:,}", spread(seconds, 2), spread(processor_s, 2), memory]


def _command(run: Path) -> list[str]:
    return [str(TAUT), "report", str(run), "--again", "--json"]


def _duckdb(run: Path) -> list[str]:
    return [*_command(run), "--engine", "duckdb"]


def _numbers(document: Mapping[str, Any]) -> Any:
    return document["runs"]


def _make(run: Path, n: int) -> None:
    """Make a run of few packets, and put n into their place."""
    small = MadeTrial(n_packets=2_000, n_cold=100, device_stall=None, generator_gap=None)
    make_run(run, (MadeVariant("made", "loopback", small),), (1e9 / GAP_NS,), repetitions=1)
    [trial] = (run / "trials").iterdir()
    counters = dict.fromkeys(("matched", "lost", "void", "void_cold", "lost_cold"), 0)
    # A tick is a nanosecond, from a time on that is not 0.
    tables = packet_tables(_counted(_records(n), counters), ClockFit(1 << 40, 1.0))
    write_parquet(trial / "packets.parquet", PACKET_SCHEMA, tables)
    meta = json.loads((trial / "trial.json").read_text())
    generator = meta["generator"]
    generator["counters"] |= {"due": n, "sent": n, "cold": min(n, N_COLD), **counters}
    generator["counters"] |= {"received": counters["matched"], "duplicates": 0, "orphans": 0}
    meta["traffic"]["duration_ns"] = n * GAP_NS
    (trial / "trial.json").write_text(json.dumps(meta))


def _counted(chunks: Iterator[np.ndarray], counters: dict[str, int]) -> Iterator[np.ndarray]:
    for records in chunks:
        lost = records["received_tsc"] == 0
        void = records["flags"] & PacketFlag.VOID != 0
        cold = records["flags"] & PacketFlag.COLD != 0
        groups = ~lost, lost, void, void & cold, lost & cold
        for name, group in zip(counters, groups, strict=True):
            counters[name] += int(group.sum())
        # As many at a time as convert.py takes.
        yield from np.array_split(records, CHUNK >> 14)


def _records(n: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(1)
    for first in range(0, n, CHUNK):
        size = min(CHUNK, n - first)
        seq = np.arange(first, first + size)
        due = seq * GAP_NS + (1 << 40)
        sent = due + rng.gamma(2.0, 20.0, size).astype(np.int64)
        records = np.zeros(size, PACKET)
        records["seq"], records["frame_len"] = seq, 64
        records["due_tsc"], records["sent_tsc"] = due, sent
        records["received_tsc"] = received = _received(rng, sent)
        records["arrival_window"] = rng.integers(40, 250, size)
        records["flags"] |= (rng.uniform(size=size) < VOID) * np.uint16(PacketFlag.VOID.value)
        records["flags"] |= (seq < N_COLD) * np.uint16(PacketFlag.COLD.value)
        lost = rng.uniform(size=size) < LOST
        for name in ("received_tsc", "arrival_window"):
            records[name][lost] = 0
        yield records[np.argsort(np.where(lost, due + DEADLINE_NS, received), kind="stable")]


def _received(rng: np.random.Generator, sent: np.ndarray) -> np.ndarray:
    """Some microseconds later; what comes in a stall is handed on after it, one by one."""
    received = sent + 4_000 + rng.gamma(2.0, 2_500.0, len(sent)).astype(np.int64)
    starts = rng.integers(sent[0], sent[-1] + 1, STALLS_PER_CHUNK)
    for start, length in zip(starts, rng.exponential(STALL_NS, STALLS_PER_CHUNK), strict=True):
        held = (received >= start) & (received < start + int(length))
        received[held] = start + int(length) + (received[held] - start) // 50
    return np.maximum.accumulate(received)


if __name__ == "__main__":
    main()
