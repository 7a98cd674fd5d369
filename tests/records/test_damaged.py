"""Whatever the bytes of a record file are: it is read, or refused in one line that says why."""

import json
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from made_run import EPOCH_TSC, MadeTrial, make_histograms, make_packets, write_raw
from taut.analysis.content.heads import read_heads
from taut.capture.frames import write_frames
from taut.capture.series import read_series
from taut.core.errors import InputError
from taut.records.convert import PACKET_SCHEMA, convert_events, convert_trial
from taut.records.layout import (
    EVENT,
    EVENT_KINDS,
    FILE_HEADER,
    FRAME,
    GAP,
    GAP_THREADS,
    HISTOGRAM,
    INJECTION,
    SERIES,
    RecordKind,
)
from taut.records.raw_file import open_raw

N_RECORDS = 6


def few(dtype: np.dtype[np.void], **fields: object) -> np.ndarray:
    records = np.zeros(N_RECORDS, dtype)
    for name, value in fields.items():
        records[name] = value
    return records


def sound_files() -> dict[str, tuple[RecordKind, np.ndarray]]:
    packets = make_packets(MadeTrial(n_packets=N_RECORDS, n_cold=1, n_lost=1, n_orphans=1))
    times = EPOCH_TSC + 1_000 * np.arange(N_RECORDS, dtype=np.uint64)
    steps = np.arange(N_RECORDS)
    framed = np.dtype([*FRAME.descr, ("bytes", "u1", (16,))])
    gaps = few(GAP, start_tsc=times, end_tsc=times + np.uint64(9), thread=steps % len(GAP_THREADS))
    kinds = 1 + steps % (len(EVENT_KINDS) - 1)
    frames = few(framed, pos=steps, ts_ns=steps, wire_len=64, cap_len=64, n_bytes=16)
    return {
        "packets.bin": (RecordKind.PACKET, packets),
        "gaps.bin": (RecordKind.GAP, gaps),
        "histograms.bin": (RecordKind.HISTOGRAM, make_histograms(packets)[: 4 * N_RECORDS]),
        "events.bin": (RecordKind.EVENT, few(EVENT, tsc=times, kind=kinds)),
        "injections.bin": (RecordKind.INJECTION, few(INJECTION, start_tsc=times)),
        "ingress_heads.bin": (RecordKind.FRAME, frames),
    }


@cache
def sound_bytes(name: str) -> bytes:
    kind, records = sound_files()[name]
    with tempfile.TemporaryDirectory() as folder:
        write_raw(Path(folder, name), kind, records)
        return Path(folder, name).read_bytes()


def read_trial(folder: Path) -> None:
    convert_trial(folder, folder)
    for name in ("packets", "gaps", "histogram"):
        pq.read_table(folder / f"{name}.parquet")


def read_events(folder: Path) -> None:
    convert_events(folder, folder)


def read_frames(folder: Path) -> None:
    write_frames(folder / "ingress_heads.bin", folder / "frames.parquet")
    pq.read_table(folder / "frames.parquet").validate(full=True)


def read_the_heads(folder: Path) -> None:
    pq.write_table(PACKET_SCHEMA.empty_table(), folder / "packets.parquet")
    read_heads(folder, folder / "packets.parquet")


def read_acts(folder: Path) -> None:
    for records in open_raw(folder / "injections.bin", RecordKind.INJECTION).chunks():
        assert len(records) > 0


def read_counts(folder: Path) -> None:
    read_series(folder / "histograms.bin")


READERS: dict[str, tuple[Callable[[Path], None], ...]] = {
    "packets.bin": (read_trial,),
    "gaps.bin": (read_trial,),
    "histograms.bin": (read_trial, read_counts),
    "events.bin": (read_events,),
    "injections.bin": (read_acts,),
    "ingress_heads.bin": (read_frames, read_the_heads),
}

# Where headers and records have their numbers, and values at which a reader may stumble.
OFFSETS = st.one_of(st.integers(0, FILE_HEADER.itemsize), st.integers(0, 600))
VALUES = st.one_of(
    st.sampled_from([0, 1, 255, 2**15, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1]),
    st.integers(0, 2**64 - 1),
)
FAULTS = st.lists(st.tuples(OFFSETS, st.sampled_from([1, 2, 4, 8]), VALUES), max_size=4)


def damaged(content: bytes, faults: list[tuple[int, int, int]], length: int | None) -> bytes:
    out = bytearray(content)
    for offset, width, value in faults:
        out[offset : offset + width] = (value % 2 ** (8 * width)).to_bytes(width, "little")
    return bytes(out[:length])


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(faults=FAULTS, length=st.none() | st.integers(0, 600))
def test_a_damaged_file_is_read_or_refused(
    name: str, faults: list[tuple[int, int, int]], length: int | None
) -> None:
    content = damaged(sound_bytes(name), faults, length)
    for read in READERS[name]:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, name).write_bytes(content)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    read(Path(folder))
            except InputError as error:
                assert len(str(error).splitlines()) == 1


@pytest.mark.parametrize("name", READERS)
def test_a_sound_file_is_read(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(sound_bytes(name))

    for read in READERS[name]:
        read(tmp_path)


@pytest.mark.parametrize(
    ("name", "dtype", "field", "number"),
    [
        ("gaps.bin", GAP, "thread", len(GAP_THREADS)),
        ("histograms.bin", HISTOGRAM, "series", len(SERIES)),
        ("events.bin", EVENT, "kind", len(EVENT_KINDS)),
        ("events.bin", EVENT, "kind", 0),
    ],
)
def test_a_number_without_a_name_is_named(
    name: str, dtype: np.dtype[np.void], field: str, number: int, tmp_path: Path
) -> None:
    kind, records = sound_files()[name]
    records[field][1] = number
    write_raw(tmp_path / name, kind, records)

    with pytest.raises(InputError, match=rf"{name}: {field} {number} is not known; .* damaged"):
        READERS[name][0](tmp_path)


@pytest.mark.parametrize("stamp", [-1, 2**64, "soon", 0.5, [1]])
def test_a_damaged_trace_window_is_refused(stamp: object, tmp_path: Path) -> None:
    (tmp_path / "events.bin").write_bytes(sound_bytes("events.bin"))
    (tmp_path / "trace.json").write_text(json.dumps({"armed_tsc": stamp, "stopped_tsc": 7}))

    with pytest.raises(InputError, match=r"trace\.json"):
        convert_events(tmp_path, tmp_path)
