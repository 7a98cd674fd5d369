"""Interrupts and softirqs of a traced trial, counted by time: what else happened meanwhile.

Counted from the trace's events, so nothing is read on a measured core while packets are sent. A
table has a row for each place (the host, or the device's guest), core, name and bin of time.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from taut.explain.arrays import Ints
from taut.explain.read.events import KIND, Events, event_batches, events_of, read_notes
from taut.explain.read.names import Names, softirq_name, vector_name
from taut.records import parquet
from taut.records.convert import GUEST
from taut.records.documents.trial import TraceOfTrial
from taut.records.tables import EVENTS

INTERRUPTS = "interrupts.parquet"
"""In the folder of an analysed trial whose whole trace was kept."""

HOST = "host"
"""The place of what the machine itself counted, as told from its guests."""

BIN_NS = 100_000_000

SCHEMA = pa.schema(
    [
        ("place", pa.string()),
        ("cpu", pa.int32()),
        ("name", pa.string()),
        ("start_ns", pa.int64()),
        ("n", pa.int64()),
    ]
)

_IRQ, _VECTOR, _SOFTIRQ = "irq_entry", "vector_entry", "softirq_entry"
# One number for what is counted together: bin, core, kind, and the number of the interrupt.
_CORES, _KINDS, _NUMBERS = 1 << 12, 1 << 8, 1 << 16


def count_interrupts(trial: Path, trace: TraceOfTrial | None) -> pa.Table | None:
    """Count those of a trial; None: it was not traced, or only around its spikes.

    A guest counts the interrupts that it sees itself, on the device's CPU.
    """
    if trace is None or trace.mode != "continuous" or not (trial / EVENTS).is_file():
        return None
    folders = {HOST: trial, GUEST: trial / GUEST}
    return pa.concat_tables(
        interrupts_of(_batches(folder), Names(read_notes(folder)), place)
        for place, folder in folders.items()
        if (folder / EVENTS).is_file()
    )


def _batches(folder: Path) -> Iterator[Events]:
    return (events_of([batch], len(batch)) for batch in event_batches(folder / EVENTS))


def interrupts_of(batches: Iterable[Events], names: Names, place: str = HOST) -> pa.Table:
    """Count what began in each bin of time at one place, by core and name."""
    counts: Counter[int] = Counter()
    for events in batches:
        keys, n = np.unique(_keys(events), return_counts=True)
        counts.update(dict(zip(keys.tolist(), n.tolist(), strict=True)))
    return pa.Table.from_pylist(list(_rows(counts, names, place)), SCHEMA)


def read_interrupts(trial: Path) -> pa.Table | None:
    """Read what was counted of an analysed trial; None: nothing was."""
    path = trial / INTERRUPTS
    return parquet.read_table(path, schema=SCHEMA) if path.is_file() else None


def _keys(events: Events) -> Ints:
    chosen = events.take(events.of(_IRQ, _VECTOR, _SOFTIRQ))
    key = chosen.time_ns // BIN_NS * _CORES + chosen.cpu.astype(np.int64)
    key = key * _KINDS + chosen.kind.astype(np.int64)
    return key * _NUMBERS + np.minimum(chosen.arg0, _NUMBERS - 1).astype(np.int64)


def _rows(counts: Counter[int], names: Names, place: str) -> Iterator[dict[str, object]]:
    for key, n in sorted(counts.items()):
        rest, number = divmod(key, _NUMBERS)
        rest, kind = divmod(rest, _KINDS)
        at, cpu = divmod(rest, _CORES)
        name = _name(kind, number, names)
        yield {"place": place, "cpu": cpu, "name": name, "start_ns": at * BIN_NS, "n": n}


def _name(kind: int, number: int, names: Names) -> str:
    if kind == KIND[_IRQ]:
        return names.irq(number)
    if kind == KIND[_SOFTIRQ]:
        return f"softirq {softirq_name(number)}"
    return vector_name(number).replace("_", " ")
