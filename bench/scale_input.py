"""A run of any length for scale.py: one made trial, written again and again, each later.

The trial is of tests/made_run.py: 100 kpkt/s through a device, of which one millisecond in ten
seconds is taken by another thread; a trace, where it is added, has the ticks of both cores and who
that was.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from made_run import MadeTrial, MadeVariant, make_run
from made_trace import HOG, OTHER_CORE, POLLER, PREEMPTED, TRACE_JSON, MadeTrace
from taut.records.convert import (
    EVENT_SCHEMA,
    GAP_SCHEMA,
    HISTOGRAM_SCHEMA,
    PACKET_SCHEMA,
    write_parquet,
)

BLOCK = 1_000_000
"""Packets of the trial that is repeated; fewer where fewer are wanted."""

_RATE_PPS = 100_000
_GENERATOR = 101
_STALL_NS = (100_000_000, 101_000_000)
_TICK_NS, _TICK_TAKES_NS = 1_000_000, 2_000


def make_scaled_run(path: Path, n_packets: int) -> Path:
    """Write a run of one trial. ValueError: more than a block, and no whole number of blocks."""
    block, n_blocks = _blocks_of(n_packets)
    made = MadeTrial(n_packets=block, n_cold=0, device_stall=_STALL_NS)
    make_run(path, (MadeVariant("eager", "taut_forward", made),), (_RATE_PPS,), repetitions=1)
    [trial] = (path / "trials").iterdir()
    length_ns = _length_ns(block)
    times = dict.fromkeys(("due_ns", "sent_ns", "received_ns"), length_ns)
    packets = pq.read_table(trial / "packets.parquet")
    write_parquet(
        trial / "packets.parquet", PACKET_SCHEMA, _later(packets, n_blocks, {"seq": block} | times)
    )
    gaps = pa.concat_tables([pq.read_table(trial / "gaps.parquet"), _gap_of_device()])
    both = dict.fromkeys(("start_ns", "end_ns"), length_ns)
    write_parquet(trial / "gaps.parquet", GAP_SCHEMA, _later(gaps, n_blocks, both))
    counts = pq.read_table(trial / "histogram.parquet")
    write_parquet(trial / "histogram.parquet", HISTOGRAM_SCHEMA, iter([_times(counts, n_blocks)]))
    document = json.loads((trial / "trial.json").read_text())
    (trial / "trial.json").write_text(json.dumps(_of_blocks(document, n_blocks)))
    return path


def add_trace(run: Path, n_packets: int) -> None:
    """Add what was traced to the run that make_scaled_run made of so many packets."""
    [trial] = (run / "trials").iterdir()
    block, n_blocks = _blocks_of(n_packets)
    length_ns = _length_ns(block)
    events = _later(_trace(length_ns).table(), n_blocks, {"time_ns": length_ns})
    write_parquet(trial / "events.parquet", EVENT_SCHEMA, events)
    trace = TRACE_JSON | {
        "threads": {str(POLLER): "taut-forward", str(_GENERATOR): "taut-generate", str(HOG): "hog"},
        "stopped_ns": n_blocks * length_ns + 10**9,
    }
    (trial / "trace.json").write_text(json.dumps(trace))


def _blocks_of(n_packets: int) -> tuple[int, int]:
    """Give the packets of a block, and how many blocks."""
    block = min(n_packets, BLOCK)
    n_blocks, rest = divmod(n_packets, block)
    if rest:
        raise ValueError(f"{n_packets} packets: above {BLOCK:,} only multiples of it can be made")
    return block, n_blocks


def _length_ns(n_packets: int) -> int:
    return n_packets * 10**9 // _RATE_PPS


def write_parts(run: Path, folder: Path, n_parts: int) -> Path:
    """Write the packets of the run's trial as a folder of Parquet files, in their order."""
    [trial] = (run / "trials").iterdir()
    folder.mkdir()
    file = pq.ParquetFile(trial / "packets.parquet")
    n_rows = -(-file.metadata.num_rows // n_parts)
    for part, rows in enumerate(file.iter_batches(n_rows)):
        table = pa.Table.from_batches([rows])
        write_parquet(folder / f"part-{part:04}.parquet", PACKET_SCHEMA, iter([table]))
    return folder


def _later(table: pa.Table, n_blocks: int, steps: dict[str, int]) -> Iterator[pa.Table]:
    """Give the table once a block, with what a block adds to its columns."""
    for block in range(n_blocks):
        moved = table
        for name, step in steps.items():
            at = table.schema.get_field_index(name)
            added = pa.scalar(block * step, table.schema.field(at).type)
            moved = moved.set_column(at, table.schema.field(at), pc.add(table[name], added))
        yield moved


def _times(histogram: pa.Table, n_blocks: int) -> pa.Table:
    at = histogram.schema.get_field_index("n")
    field = histogram.schema.field(at)
    counts = pc.multiply(histogram["n"], pa.scalar(n_blocks, field.type))
    return histogram.set_column(at, field, counts)


def _gap_of_device() -> pa.Table:
    start_ns, end_ns = _STALL_NS
    gap = {"start_ns": start_ns, "end_ns": end_ns, "thread": "forwarder", "n_packets": 0}
    return pa.Table.from_pylist([gap], schema=GAP_SCHEMA)


def _trace(length_ns: int) -> MadeTrace:
    """Ticks on both cores, and the thread that had the device's core while it stalled."""
    trace = MadeTrace()
    for tick_ns in range(_TICK_NS // 2, length_ns, _TICK_NS):
        runs = HOG if _STALL_NS[0] < tick_ns < _STALL_NS[1] else POLLER
        trace.vector(tick_ns, tick_ns + _TICK_TAKES_NS, thread=runs)
        trace.vector(tick_ns, tick_ns + _TICK_TAKES_NS, thread=_GENERATOR, cpu=OTHER_CORE)
    start_ns, end_ns = _STALL_NS
    trace.switch(start_ns + 100, POLLER, HOG, PREEMPTED)
    return trace.switch(end_ns - 100, HOG, POLLER)


def _of_blocks(document: dict[str, Any], n_blocks: int) -> dict[str, Any]:
    """Let trial.json say what so many blocks hold."""
    generator = document["generator"]
    for counts in (generator["counters"], *generator["directions"]):
        for name in counts:
            counts[name] *= n_blocks
    for name in ("n", "total_ns"):
        generator["gaps"][name] *= n_blocks
    for name in ("n", "bytes"):
        generator["records"][name] *= n_blocks
    generator["duration_ns"] *= n_blocks
    document["traffic"]["duration_ns"] *= n_blocks
    document["dut"]["stats"] = {"gaps": {"per_packet_ns": 250}}
    return document
