"""The kernel's events of a trial as arrays, and trace.json beside them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from taut.explain.arrays import Ints, Mask, Numbers
from taut.explain.read.batches import read_batches
from taut.host.machine import version_of
from taut.records import parquet
from taut.records.documents.json_form import read_document
from taut.records.documents.trace import (
    LOST_SENDERS,
    TRACE_FILE,
    CountersAround,
    CountersRead,
    TraceDocument,
)
from taut.records.layout import EVENT_KINDS
from taut.records.tables import EVENTS

_BATCH = 1 << 16
LOW = 0xFFFF_FFFF
"""The lower half of an event's argument, where the two halves are two things."""
KIND = {name: code for code, name in enumerate(EVENT_KINDS) if name is not None}


def low(values: Numbers) -> Ints:
    """Give the lower halves of arguments."""
    halves: Ints = values.view(np.int64) & LOW
    return halves


def high(values: Numbers) -> Ints:
    """Give the upper halves of arguments."""
    return low(values.view(np.int64) >> 32)


@dataclass(frozen=True)
class Events:
    """Events in the order of time; `kind` is the position in EVENT_KINDS."""

    time_ns: Ints
    thread: Numbers
    cpu: Numbers
    kind: Numbers
    arg0: Numbers
    arg1: Numbers

    def __len__(self) -> int:
        return len(self.time_ns)

    def take(self, chosen: Ints | Mask | slice) -> "Events":
        """Give the chosen rows."""
        return Events(
            self.time_ns[chosen],
            self.thread[chosen],
            self.cpu[chosen],
            self.kind[chosen],
            self.arg0[chosen],
            self.arg1[chosen],
        )

    def with_more(
        self,
        kind: str,
        time_ns: Ints,
        *,
        thread: Numbers | int,
        cpu: Numbers | int,
        arg0: Numbers | int,
        arg1: Numbers | int,
    ) -> "Events":
        """Add events of one kind, each behind those of the same time; a number is that of all."""
        at = np.searchsorted(self.time_ns, time_ns, "right")
        return Events(
            np.insert(self.time_ns, at, time_ns),
            np.insert(self.thread, at, thread),
            np.insert(self.cpu, at, cpu),
            np.insert(self.kind, at, KIND[kind]),
            np.insert(self.arg0, at, arg0),
            np.insert(self.arg1, at, arg1),
        )

    def of(self, *kinds: str) -> Mask:
        """Mark the rows of some kinds."""
        wanted = np.zeros(1 << 8, bool)
        wanted[[KIND[kind] for kind in kinds]] = True
        marked: Mask = wanted[self.kind]
        return marked

    def woken_on(self, core: int) -> Mask:
        """Mark wake-ups of threads that are to run on a core."""
        marked: Mask = self.of("wakeup") & (low(self.arg1) == core)
        return marked


@dataclass(frozen=True)
class TraceNotes:
    """What trace.json says: names by number, events the kernel lacks, counters."""

    kernel: tuple[int, int] = (0, 0)
    """Its major and minor version; (0, 0): trace.json does not say."""
    threads: Mapping[int, str] = field(default_factory=dict)
    functions: Mapping[int, str] = field(default_factory=dict)
    irqs: Mapping[int, str] = field(default_factory=dict)
    missing: tuple[tuple[str, str], ...] = ()  # event, what is not known without it
    watched: tuple[int, ...] = ()
    """Threads whose counters were read: those of the device when the trace began."""
    counters: CountersAround = field(default_factory=CountersAround)
    cores: tuple[int, ...] | None = None
    """Where events were recorded; None: trace.json does not say."""
    window_ns: tuple[int, int] | None = None
    """From when to when the trace ran; None: from the first event to the last."""
    lost_senders: bool = False
    """Whether events were lost of what other cores do to these: any of them may be a sending."""
    is_partial: bool = False
    """Whether only slow packets were recorded: the others might speak against any verdict."""

    def lacks(self, *prefixes: str) -> bool:
        """Whether the kernel lacks an event of that name or group."""
        return any(event.startswith(prefixes) for event, _ in self.missing)


# As narrow as the records: an hour's events are to fit into memory.
_TYPES = (
    ("time_ns", np.int64),
    ("thread", np.int32),
    ("cpu", np.int16),
    ("kind", np.uint8),
    ("arg0", np.uint64),
    ("arg1", np.uint64),
)


def events_of(batches: Iterable[pa.RecordBatch], n: int) -> Events:
    """Turn `n` rows, as records/convert.py writes them, into arrays in the order of time."""
    columns: dict[str, Numbers] = {name: np.empty(n, dtype) for name, dtype in _TYPES}
    at = 0
    for batch in batches:
        for name, column in columns.items():
            values = batch.column(name)
            read = _kinds(values) if name == "kind" else values.to_numpy(zero_copy_only=False)
            column[at : at + len(batch)] = read
        at += len(batch)
    events = Events(*columns.values())
    if np.all(events.time_ns[1:] >= events.time_ns[:-1]):
        return events
    return events.take(np.argsort(events.time_ns, kind="stable"))


def _kinds(names: pa.Array) -> Numbers:
    """Give positions in EVENT_KINDS; 0 for a kind that only a newer taut-trace knows."""
    if not isinstance(names, pa.DictionaryArray):
        names = names.dictionary_encode()
    known = pc.index_in(names.dictionary.cast(pa.string()), pa.array(EVENT_KINDS, pa.string()))
    codes: Numbers = known.fill_null(0).to_numpy().astype(np.uint8)
    found: Numbers = codes[names.indices.to_numpy()]
    return found


def no_events() -> Events:
    none = np.empty(0, np.int64)
    return Events(none, none, none, none.astype(np.uint8), none.astype(np.uint64), none)


def read_events(trial: Path) -> Events | None:
    """Read a trial's events; None when it was not traced."""
    path = trial / EVENTS
    if not path.is_file():
        return None
    return events_of(event_batches(path), parquet.read_metadata(path).num_rows)


def event_batches(path: Path) -> Iterator[pa.RecordBatch]:
    """Read a file of events as events_of wants it."""
    columns = [name for name, _ in _TYPES]
    return read_batches(path, columns, _BATCH, dictionaries=["kind"])


def read_notes(trial: Path) -> TraceNotes:
    """Read trace.json; without one numbers stay numbers."""
    path = trial / TRACE_FILE
    return notes_of(read_document(TraceDocument, path)) if path.is_file() else TraceNotes()


def notes_of(trace: TraceDocument) -> TraceNotes:
    """Take from trace.json what attribution uses."""
    counters = trace.counters or CountersAround()
    before = counters.before or CountersRead()
    return TraceNotes(
        kernel=version_of(trace.kernel or ""),
        threads=_by_number(trace.threads),
        functions=_by_number(trace.functions),
        irqs=_by_number(trace.irqs),
        missing=tuple((one.event, one.costs) for one in trace.missing or ()),
        watched=tuple(int(thread) for thread in before.threads),
        counters=counters,
        cores=trace.cores,
        lost_senders=any(one.of == LOST_SENDERS for one in trace.lost or ()),
        window_ns=None
        if trace.armed_ns is None or trace.stopped_ns is None
        else (trace.armed_ns, trace.stopped_ns),
    )


def _by_number(names: Mapping[str, str] | None) -> dict[int, str]:
    return {int(number): name for number, name in (names or {}).items()}
