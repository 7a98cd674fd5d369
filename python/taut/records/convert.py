"""From the data plane's binary records to a trial's Parquet files, in constant memory.

Every file of a trial uses the epoch and the clock fit of the generator's records: one clock for
packets and gaps.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from taut.core.errors import InputError
from taut.records.clock import ClockFit, fit_of
from taut.records.layout import GAP_THREADS, SERIES, RecordKind
from taut.records.raw_file import RawFile, Records, open_raw

PACKETS_FILE = "packets.bin"
GAPS_FILE = "gaps.bin"
HISTOGRAMS_FILE = "histograms.bin"

PACKET_SCHEMA = pa.schema(
    [
        pa.field("seq", pa.uint64(), nullable=False),
        pa.field("direction", pa.uint8(), nullable=False),
        pa.field("flow", pa.uint32(), nullable=False),
        pa.field("frame_len", pa.uint16(), nullable=False),
        pa.field("flags", pa.uint16(), nullable=False),
        # Null only in an orphan: nobody of this run wanted it sent.
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


def convert_trial(raw: Path, trial: Path, device_gaps: Sequence[Path] = ()) -> None:
    """Write packets, gaps and histogram .parquet into `trial` from the record files in `raw`.

    `device_gaps` are gap files of the device under test (RunningDut.gaps_file).
    """
    packets = _open_if_there(raw / PACKETS_FILE, RecordKind.PACKET)
    gaps = _open_if_there(raw / GAPS_FILE, RecordKind.GAP)
    histograms = _open_if_there(raw / HISTOGRAMS_FILE, RecordKind.HISTOGRAM)
    reference = packets or histograms or gaps
    if reference is None:
        raise InputError(f"{raw}: no record files; the generator wrote nothing")
    fit = fit_of(reference.header)
    all_gaps = [gaps, *(open_raw(path, RecordKind.GAP) for path in device_gaps)]
    _write(trial / "packets.parquet", PACKET_SCHEMA, _packet_tables([packets], fit))
    _write(trial / "gaps.parquet", GAP_SCHEMA, _gap_tables(all_gaps, fit))
    _write(trial / "histogram.parquet", HISTOGRAM_SCHEMA, _histogram_tables([histograms], fit))


def _open_if_there(path: Path, kind: RecordKind) -> RawFile | None:
    return open_raw(path, kind) if path.exists() else None


def _write(path: Path, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table)


def _chunks(files: Sequence[RawFile | None]) -> Iterator[Records]:
    for file in files:
        if file is not None:
            yield from file.chunks()


def _packet_tables(files: Sequence[RawFile | None], fit: ClockFit) -> Iterator[pa.Table]:
    for records in _chunks(files):
        yield pa.table(
            [
                records["seq"],
                records["direction"],
                records["flow"],
                records["frame_len"],
                records["flags"],
                _time_or_null(records["due_tsc"], fit),
                _time_or_null(records["sent_tsc"], fit),
                _time_or_null(records["received_tsc"], fit),
                fit.spans_ns(records["arrival_window"]),
            ],
            schema=PACKET_SCHEMA,
        )


def _time_or_null(tsc: Records, fit: ClockFit) -> pa.Array:
    return pa.array(fit.times_ns(tsc), mask=tsc == 0)


def _gap_tables(files: Sequence[RawFile | None], fit: ClockFit) -> Iterator[pa.Table]:
    names = np.array(GAP_THREADS, dtype=object)
    for records in _chunks(files):
        yield pa.table(
            [
                fit.times_ns(records["start_tsc"]),
                fit.times_ns(records["end_tsc"]),
                pa.array(names[records["thread"]], pa.string()),
                records["n_packets"],
            ],
            schema=GAP_SCHEMA,
        )


def _histogram_tables(files: Sequence[RawFile | None], fit: ClockFit) -> Iterator[pa.Table]:
    names = np.array(SERIES, dtype=object)
    for records in _chunks(files):
        value_ns = fit.spans_ns(records["value_ticks"])
        end_ns = fit.spans_ns(records["value_ticks"] + records["width_ticks"])
        # One tick is shorter than a nanosecond: an exact bucket is one value, its nearest.
        exact = records["width_ticks"] == 1
        width_ns = np.where(exact, 1, np.maximum(end_ns - value_ns, 1))
        yield pa.table(
            [
                pa.array(names[records["series"]], pa.string()),
                records["direction"],
                records["is_void"].astype(bool),
                records["is_cold"].astype(bool),
                value_ns,
                width_ns,
                records["count"],
            ],
            schema=HISTOGRAM_SCHEMA,
        )
