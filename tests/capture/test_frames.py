"""Frame records to Parquet."""

import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from made_captures import Frame, default_key, frames_table, made_frame, tangled_pair
from made_run import write_raw
from taut.capture.frames import FRAME_SCHEMA, write_frames
from taut.core.errors import InputError
from taut.records.layout import FRAME, FrameFlag, RecordKind
from taut.records.raw_file import CHUNK_RECORDS

KEY_BYTES = 52
RECORD = np.dtype([*FRAME.descr, ("bytes", "u1", (KEY_BYTES,))])


def frame_records(frames: list[Frame]) -> np.ndarray:
    """What `taut-match --keys` writes of frames."""
    records = np.zeros(len(frames), RECORD)
    records["pos"] = np.arange(len(frames))
    records["ts_ns"] = [frame.ts_ns for frame in frames]
    records["clock_ns"] = np.maximum.accumulate(records["ts_ns"])
    records["wire_len"] = [frame.wire_len for frame in frames]
    for record, frame in zip(records, frames, strict=True):
        key = default_key(frame)
        if key is None:
            record["flags"] = FrameFlag.TRUNCATED
            record["bytes"] = 0xEE  # of no meaning
        else:
            record["n_bytes"] = len(key)
            record["bytes"][: len(key)] = np.frombuffer(key, np.uint8)
    return records


def test_a_row_is_a_frame_with_its_key_or_null(tmp_path: Path) -> None:
    frames = [*tangled_pair(1, 300, 9)[0], made_frame(10**6, 1)]
    write_raw(tmp_path / "keys.bin", RecordKind.FRAME, frame_records(frames))

    write_frames(tmp_path / "keys.bin", tmp_path / "keys.parquet")

    table = pq.read_table(tmp_path / "keys.parquet")
    assert table.equals(frames_table(frames))
    assert 0 < table.column("key").null_count < 30


def test_keys_that_differ_in_trailing_zeros_stay_different(tmp_path: Path) -> None:
    records = np.zeros(3, RECORD)
    records["n_bytes"] = [0, 1, 2]
    write_raw(tmp_path / "keys.bin", RecordKind.FRAME, records)

    write_frames(tmp_path / "keys.bin", tmp_path / "keys.parquet")

    keys = pq.read_table(tmp_path / "keys.parquet").column("key").to_pylist()
    assert keys == [b"", b"\0", b"\0\0"]


def test_a_frame_longer_than_a_packet_record_can_say_is_shortened(tmp_path: Path) -> None:
    records = np.zeros(1, RECORD)
    records["wire_len"] = 70_000
    write_raw(tmp_path / "keys.bin", RecordKind.FRAME, records)

    write_frames(tmp_path / "keys.bin", tmp_path / "keys.parquet")

    assert pq.read_table(tmp_path / "keys.parquet").column("frame_len").to_pylist() == [65_535]


@pytest.mark.parametrize("dtype", [RECORD, FRAME])
def test_a_file_without_frames_is_a_table_without_rows(tmp_path: Path, dtype: np.dtype) -> None:
    write_raw(tmp_path / "keys.bin", RecordKind.FRAME, np.zeros(0, dtype))

    write_frames(tmp_path / "keys.bin", tmp_path / "keys.parquet")

    table = pq.read_table(tmp_path / "keys.parquet")
    assert (table.num_rows, table.schema) == (0, FRAME_SCHEMA)


def test_a_key_longer_than_its_field_is_named(tmp_path: Path) -> None:
    records = np.zeros(2, RECORD)
    records["n_bytes"] = [KEY_BYTES, KEY_BYTES + 1]
    write_raw(tmp_path / "keys.bin", RecordKind.FRAME, records)

    with pytest.raises(InputError, match=r"keys\.bin: a key of 53 bytes in a field of 52"):
        write_frames(tmp_path / "keys.bin", tmp_path / "keys.parquet")


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    def peak_bytes(n_chunks: int) -> int:
        records = np.zeros(n_chunks * CHUNK_RECORDS, RECORD)
        records["n_bytes"] = KEY_BYTES
        raw = tmp_path / f"{n_chunks}.bin"
        write_raw(raw, RecordKind.FRAME, records)
        tracemalloc.start()
        write_frames(raw, tmp_path / f"{n_chunks}.parquet")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    assert peak_bytes(4) < 1.2 * peak_bytes(1)
