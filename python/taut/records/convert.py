"""From the data plane's binary records to a trial's Parquet files, in constant memory.

Every file of a trial uses the epoch and the clock fit of the generator's records: one clock for
packets and gaps.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from taut.core.errors import InputError
from taut.core.files import write_json
from taut.records.clock import ClockFit, fit_of
from taut.records.documents.json_form import plain, read_document
from taut.records.documents.trace import TRACE_FILE, TraceDocument
from taut.records.layout import EVENT_KINDS, GAP_THREADS, SERIES, STAMP_EVENTS, RecordKind
from taut.records.raw_file import RawFile, Records, open_raw
from taut.records.tables import EVENTS, GAPS, HISTOGRAM, PACKETS, STAMPS

PACKETS_FILE = "packets.bin"
GAPS_FILE = "gaps.bin"
HISTOGRAMS_FILE = "histograms.bin"
EVENTS_FILE = "events.bin"
GUEST = "guest"
"""Folder of a trial with what its guest's kernel noted, as the host's events stand beside it."""

PACKET_SCHEMA = pa.schema(
    [
        pa.field("seq", pa.uint64(), nullable=False),
        pa.field("direction", pa.uint8(), nullable=False),
        pa.field("flow", pa.uint32(), nullable=False),
        pa.field("frame_len", pa.uint16(), nullable=False),
        pa.field("flags", pa.uint16(), nullable=False),
        # Null only in an orphan: no packet of this run was due to be it.
        pa.field("due_ns", pa.int64()),
        pa.field("sent_ns", pa.int64()),
        pa.field("received_ns", pa.int64()),
        pa.field("arrival_window_ns", pa.int64(), nullable=False),
    ]
)
GAP_SCHEMA = pa.schema(
    [
        pa.field("start_ns", pa.int64(), nullable=False),
        pa.field("end_ns", pa.int64(), nullable=False),
        pa.field("thread", pa.string(), nullable=False),
        pa.field("n_packets", pa.uint32(), nullable=False),
    ]
)
# A bucket holds values v with value_ns <= v < value_ns + width_ns: width 1 is exact.
HISTOGRAM_SCHEMA = pa.schema(
    [
        pa.field("series", pa.string(), nullable=False),
        pa.field("direction", pa.uint8(), nullable=False),
        pa.field("is_void", pa.bool_(), nullable=False),
        pa.field("is_cold", pa.bool_(), nullable=False),
        pa.field("value_ns", pa.int64(), nullable=False),
        pa.field("width_ns", pa.int64(), nullable=False),
        pa.field("n", pa.uint64(), nullable=False),
    ]
)
STAMP_SCHEMA = pa.schema(
    [
        pa.field("element", pa.string(), nullable=False),
        pa.field("event", pa.string(), nullable=False),
        pa.field("seq", pa.uint64(), nullable=False),
        pa.field("direction", pa.uint8(), nullable=False),
        pa.field("time_ns", pa.int64(), nullable=False),
        # Of what was received: how long ago a look began that did not find it. Else 0.
        pa.field("window_ns", pa.int64(), nullable=False),
    ]
)
# What arg0 and arg1 are depends on the kind: record_format.h says. The one that is a time, until
# when events were lost or not kept, is in nanoseconds here.
EVENT_SCHEMA = pa.schema(
    [
        pa.field("time_ns", pa.int64(), nullable=False),
        pa.field("thread", pa.uint32(), nullable=False),
        pa.field("cpu", pa.uint16(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("arg0", pa.uint64(), nullable=False),
        pa.field("arg1", pa.uint64(), nullable=False),
    ]
)


class GapLog(NamedTuple):
    """A file of gaps of the device under test."""

    path: Path
    thread: str | None = None
    """Whose gaps they are, where several programs of one kind log theirs; None: the file says."""


def convert_trial(raw: Path, trial: Path, device_gaps: Sequence[GapLog] = ()) -> None:
    """Write packets, gaps and histogram .parquet into `trial` from the record files in `raw`.

    `device_gaps` are those of the device under test (RunningDut.gaps_file).
    """
    packets = _open_if_there(raw / PACKETS_FILE, RecordKind.PACKET)
    gaps = _open_if_there(raw / GAPS_FILE, RecordKind.GAP)
    histograms = _open_if_there(raw / HISTOGRAMS_FILE, RecordKind.HISTOGRAM)
    reference = packets or histograms or gaps
    if reference is None:
        raise InputError(f"{raw}: no record files; the generator wrote nothing")
    fit = fit_of(reference.header)
    logs = [(open_raw(log.path, RecordKind.GAP), log.thread) for log in device_gaps]
    all_gaps = [*([(gaps, None)] if gaps is not None else []), *logs]
    write_parquet(trial / PACKETS, PACKET_SCHEMA, packet_tables(_chunks([packets]), fit))
    write_parquet(trial / GAPS, GAP_SCHEMA, _gap_tables(all_gaps, fit))
    write_parquet(trial / HISTOGRAM, HISTOGRAM_SCHEMA, _histogram_tables([histograms], fit))


def begins_ns(raw: Path, logs: Sequence[GapLog]) -> int | None:
    """Say when the last of a device's logs begins, in the time of the records in `raw`.

    A log begins when its program is about to poll. None: there is none, or no record.
    """
    reference = _reference(raw)
    begun = [
        open_raw(log.path, RecordKind.GAP).header["first"]["tsc"]
        for log in logs
        if log.path.exists()
    ]
    if reference is None or not begun:
        return None
    return int(fit_of(reference.header).times_ns(np.array(begun, np.uint64)).max())


class StampLog(NamedTuple):
    """A file of stamps of the device under test."""

    path: Path
    element: str
    """What stamped: a hop of a chain, or the device."""


def convert_stamps(raw: Path, trial: Path, logs: Sequence[StampLog]) -> None:
    """Write stamps.parquet into `trial`: those of the packets in `raw`, at each element.

    Stamps of packets of another run are left out. Where nothing was stamped nothing is written.
    """
    packets = _open_if_there(raw / PACKETS_FILE, RecordKind.PACKET)
    if not logs or packets is None:
        return
    opened = [(open_raw(log.path, RecordKind.STAMP), log.element) for log in logs]
    run_id, fit = int(packets.header["run_id"]), fit_of(packets.header)
    write_parquet(trial / STAMPS, STAMP_SCHEMA, _stamp_tables(opened, run_id, fit))


def convert_events(raw: Path, trial: Path, reference: Path | None = None) -> None:
    """Write events.parquet and trace.json into `trial` from what taut-trace left in `raw`.

    Times count from the epoch of the generator's records in `raw`, or in `reference` where a
    guest's events are in a folder of their own; without any, from the trace's own. trace.json says
    in the same time from when to when the trace ran. Where nothing was traced nothing is written.
    """
    events = _open_if_there(raw / EVENTS_FILE, RecordKind.EVENT)
    if events is None:
        return
    fit = fit_of((_reference(reference or raw) or events).header)
    trial.mkdir(exist_ok=True)
    write_parquet(trial / EVENTS, EVENT_SCHEMA, _event_tables(events, fit))
    if (raw / TRACE_FILE).exists():
        trace = read_document(TraceDocument, raw / TRACE_FILE)
        write_json(trial / TRACE_FILE, plain(_with_times(trace, fit)))


def _with_times(trace: TraceDocument, fit: ClockFit) -> TraceDocument:
    """Say from when to when the trace ran, in nanoseconds."""
    return replace(
        trace,
        armed_ns=_time(trace.armed_tsc, fit),
        stopped_ns=_time(trace.stopped_tsc, fit),
    )


def _time(tsc: int | None, fit: ClockFit) -> int | None:
    if tsc is None:
        return None
    try:
        return int(fit.times_ns(np.array([tsc], np.uint64))[0])
    except (OverflowError, ValueError):
        raise InputError(
            f"{TRACE_FILE}: when the trace ran is no count of ticks; the file is damaged"
        ) from None


def _reference(raw: Path) -> RawFile | None:
    """Open a file of the generator's records, whose epoch and clock count; None: there is none."""
    kinds = (
        (PACKETS_FILE, RecordKind.PACKET),
        (HISTOGRAMS_FILE, RecordKind.HISTOGRAM),
        (GAPS_FILE, RecordKind.GAP),
    )
    opened = (_open_if_there(raw / name, kind) for name, kind in kinds)
    return next((file for file in opened if file is not None), None)


def _open_if_there(path: Path, kind: RecordKind) -> RawFile | None:
    return open_raw(path, kind) if path.exists() else None


# Times and sequence numbers grow steadily: their differences are small and all alike. Written that
# way they take a quarter of the time and a seventh of the room of plain zstd.
_STEADY = ("seq", "due_ns", "sent_ns", "received_ns", "start_ns", "end_ns", "time_ns")
_ROW_GROUP = 1 << 18


def write_parquet(path: Path, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
    """Write tables of one schema as row groups of a quarter of a million rows."""
    steady = [name for name in schema.names if name in _STEADY]
    with pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        compression_level=1,
        use_dictionary=[name for name in schema.names if name not in _STEADY],
        column_encoding=dict.fromkeys(steady, "DELTA_BINARY_PACKED"),
    ) as writer:
        for group in _grouped(tables):
            writer.write_table(group, _ROW_GROUP)


def _grouped(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Collect small tables to row groups."""
    group: list[pa.Table] = []
    n_rows = 0
    for table in tables:
        group.append(table)
        n_rows += table.num_rows
        if n_rows >= _ROW_GROUP:
            yield pa.concat_tables(group)
            group, n_rows = [], 0
    if group:
        yield pa.concat_tables(group)


def _chunks(files: Sequence[RawFile | None]) -> Iterator[Records]:
    for file in files:
        if file is not None:
            yield from file.chunks(CHUNK_RECORDS)


# Taking columns out of records reads each record once a column: a chunk must stay in the cache.
CHUNK_RECORDS = 1 << 14
_COPIED = ("seq", "direction", "flow", "frame_len", "flags")
_STAMPS = ("due_tsc", "sent_tsc", "received_tsc")


def packet_tables(chunks: Iterable[Records], fit: ClockFit) -> Iterator[pa.Table]:
    """Give packet records as tables of PACKET_SCHEMA, one a chunk."""
    for records in chunks:
        yield pa.table(
            [
                *(_column(records, name) for name in _COPIED),
                *(_time_or_null(_column(records, name), fit) for name in _STAMPS),
                fit.spans_ns(_column(records, "arrival_window")),
            ],
            schema=PACKET_SCHEMA,
        )


def _column(records: Records, name: str) -> Records:
    return np.ascontiguousarray(records[name])


def _time_or_null(tsc: Records, fit: ClockFit) -> pa.Array:
    missing = tsc == 0
    if missing.all():
        return pa.nulls(len(tsc), pa.int64())
    times = fit.times_ns(tsc)
    return pa.array(times, mask=missing) if missing.any() else pa.array(times)


def _gap_tables(files: Sequence[tuple[RawFile, str | None]], fit: ClockFit) -> Iterator[pa.Table]:
    for file, thread in files:
        for records in file.chunks(CHUNK_RECORDS):
            names = _names(file, "thread", records["thread"], GAP_THREADS)
            yield pa.table(
                [
                    fit.times_ns(records["start_tsc"]),
                    fit.times_ns(records["end_tsc"]),
                    names if thread is None else pa.repeat(thread, len(names)),
                    records["n_packets"],
                ],
                schema=GAP_SCHEMA,
            )


def _stamp_tables(
    files: Sequence[tuple[RawFile, str]], run_id: int, fit: ClockFit
) -> Iterator[pa.Table]:
    for file, element in files:
        for chunk in file.chunks(CHUNK_RECORDS):
            records = chunk[chunk["run_id"] == run_id]
            yield pa.table(
                [
                    pa.repeat(element, len(records)),
                    _names(file, "event", records["event"], STAMP_EVENTS),
                    _column(records, "seq"),
                    _column(records, "direction"),
                    fit.times_ns(_column(records, "tsc")),
                    fit.spans_ns(_column(records, "window")),
                ],
                schema=STAMP_SCHEMA,
            )


def _names(file: RawFile, what: str, numbers: Records, names: Sequence[str | None]) -> pa.Array:
    """Give the name of each number; InputError where one has none (None, or beyond the last)."""
    is_known = numbers < len(names)
    is_known &= numbers >= int(names[0] is None)
    if not is_known.all():
        unknown = int(numbers[~is_known][0])
        raise InputError(f"{file.path}: {what} {unknown} is not known; the file is damaged")
    found = pa.DictionaryArray.from_arrays(np.ascontiguousarray(numbers), pa.array(names))
    return found.cast(pa.string())


_WITH_END = [EVENT_KINDS.index(kind) for kind in ("lost", "skipped")]


def _event_tables(file: RawFile, fit: ClockFit) -> Iterator[pa.Table]:
    for records in _chunks([file]):
        kinds = _column(records, "kind")
        names = _names(file, "kind", kinds, EVENT_KINDS)
        arg1 = records["args"][:, 1].copy()
        has_end = np.isin(kinds, _WITH_END)
        # A hole that ended before the epoch is of no interest: it ended at 0.
        arg1[has_end] = np.maximum(fit.times_ns(arg1[has_end]), 0)
        yield pa.table(
            [
                fit.times_ns(_column(records, "tsc")),
                _column(records, "thread"),
                _column(records, "cpu"),
                names,
                records["args"][:, 0].copy(),
                arg1,
            ],
            schema=EVENT_SCHEMA,
        )


def _histogram_tables(files: Sequence[RawFile | None], fit: ClockFit) -> Iterator[pa.Table]:
    for file in filter(None, files):
        for records in file.chunks(CHUNK_RECORDS):
            value_ns = fit.spans_ns(records["value_ticks"])
            # As integers of one kind: of a signed and an unsigned one numpy makes floats.
            end_ticks = records["value_ticks"] + records["width_ticks"].astype(np.int64)
            # One tick is shorter than a nanosecond: an exact bucket is one value, its nearest.
            exact = records["width_ticks"] == 1
            width_ns = np.where(exact, 1, np.maximum(fit.spans_ns(end_ticks) - value_ns, 1))
            yield pa.table(
                [
                    _names(file, "series", records["series"], SERIES),
                    records["direction"],
                    records["is_void"].astype(bool),
                    records["is_cold"].astype(bool),
                    value_ns,
                    width_ns,
                    records["count"],
                ],
                schema=HISTOGRAM_SCHEMA,
            )
