"""A Parquet file that is not there or damaged is one line with its path, however it is read."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from taut.analysis.blocks import BLOCKS
from taut.analysis.interrupts import INTERRUPTS
from taut.analysis.trial_tables import DISTRIBUTION
from taut.analysis.worst import WORST
from taut.core.errors import InputError
from taut.records import parquet
from taut.records.tables import EVENTS, GAPS, HEADS, HISTOGRAM, PACKETS, STAMPS


def read_in_parts(path: Path) -> None:
    with parquet.opened(path) as file:
        list(file.iter_batches())


READERS = (parquet.read_table, parquet.read_metadata, read_in_parts)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """In a folder whose name is no partition of it."""
    path = tmp_path / "rate=10" / "x.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"n": list(range(10_000)), "flag": [1, 2] * 5_000}), path)
    return path


def test_a_sound_file_is_read(path: Path) -> None:
    assert parquet.read_table(path).column_names == ["n", "flag"]
    assert parquet.read_table(path, ["n"], [("flag", "=", 1)])["n"].to_pylist()[:2] == [0, 2]
    assert parquet.read_metadata(path).num_rows == 10_000
    with parquet.opened(path) as file:
        assert sum(len(batch) for batch in file.iter_batches()) == 10_000


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("length", [None, 0, 4, -100])
def test_a_file_that_was_cut_or_is_gone_is_named(read, length: int | None, path: Path) -> None:
    if length is None:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:length])

    with pytest.raises(InputError) as caught:
        read(path)

    said = str(caught.value)
    assert said.startswith(f"{path}: not there; " if length is None else f"{path}: damaged (")
    assert "\n" not in said


@pytest.mark.parametrize("read", [parquet.read_table, read_in_parts])
def test_pages_that_do_not_unpack_are_damaged(read, path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[100:2_000] = bytes(1_900)
    path.write_bytes(content)

    with pytest.raises(InputError, match=r"x\.parquet: damaged"):
        read(path)


def test_what_may_not_be_read_is_not_damaged(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(pq, "read_metadata", refuse)

    with pytest.raises(PermissionError):
        parquet.read_metadata(path)


@pytest.mark.parametrize(
    ("name", "is_made_again"),
    [
        *((name, False) for name in (PACKETS, GAPS, HISTOGRAM, STAMPS, EVENTS, HEADS)),
        *((name, True) for name in (DISTRIBUTION, BLOCKS, WORST, INTERRUPTS)),
    ],
)
def test_analysing_anew_is_the_remedy_of_what_an_analysis_makes(
    name: str, is_made_again: bool, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=f"{name}: not there; copy the run again") as caught:
        parquet.read_table(tmp_path / name)

    assert ("--again" in str(caught.value)) is is_made_again
