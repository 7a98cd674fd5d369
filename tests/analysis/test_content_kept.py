"""What a run keeps of its frames, for `taut analyze --with RUN`."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from made_content import made_heads
from taut.analysis.content.heads import MatchedFrames
from taut.analysis.content.kept import count_kept, keep_frames, read_kept
from taut.core.errors import InputError


def frames() -> MatchedFrames:
    rows = np.random.default_rng(1).integers(0, 256, (1_000, 60)).astype(np.uint8)
    at = np.arange(1_000)
    return MatchedFrames(at, 10 * at, 7 * at, made_heads(rows, 60 - at % 3, 64 + at % 5))


def test_what_is_read_back_is_what_was_kept(tmp_path: Path):
    kept = frames()
    keep_frames(kept, tmp_path / "heads.parquet")

    found = read_kept(tmp_path / "heads.parquet")

    assert count_kept(tmp_path / "heads.parquet") == 1_000
    for name in ("position", "time_ns", "latency_ns"):
        assert np.array_equal(getattr(found, name), getattr(kept, name))
    for name in ("columns", "n_bytes", "wire_len"):
        assert np.array_equal(getattr(found.heads, name), getattr(kept.heads, name))


def test_a_file_that_was_cut_is_refused_in_one_line(tmp_path: Path):
    path = tmp_path / "heads.parquet"
    keep_frames(frames(), path)
    path.write_bytes(path.read_bytes()[:-100])

    for read in (count_kept, read_kept):
        with pytest.raises(InputError, match=r"heads.parquet: damaged .*analyse the captures"):
            read(path)


def test_a_file_of_something_else_is_refused_in_one_line(tmp_path: Path):
    path = tmp_path / "heads.parquet"
    pq.write_table(pa.table({"position": [1, 2]}), path)

    with pytest.raises(InputError, match=r"damaged \(.*time_ns.*\)") as caught:
        read_kept(path)

    assert "\n" not in str(caught.value)
