import itertools
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from made_run import EPOCH_TSC, write_raw
from taut.records import convert
from taut.records.follow import converting_packets
from taut.records.layout import FILE_HEADER, PACKET, RecordKind

N = 400_000  # some holes' worth


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    """The bytes of a file of packets whose clock is known from the start."""
    folder = tmp_path / "whole"
    folder.mkdir()
    packets = np.zeros(N, PACKET)
    packets["seq"] = np.arange(N)
    packets["sent_tsc"] = EPOCH_TSC + np.arange(N) * 1000
    packets["received_tsc"] = packets["sent_tsc"] + 77
    write_raw(folder / "packets.bin", RecordKind.PACKET, packets)
    convert.convert_trial(folder, folder)
    return (folder / "packets.bin").read_bytes()


def expected(tmp_path: Path) -> object:
    return pq.read_table(tmp_path / "whole" / "packets.parquet")


@pytest.mark.parametrize("n_steps", [1, 7, 1000])
def test_a_file_that_grows_is_converted_as_if_it_were_whole(
    n_steps: int, whole: bytes, tmp_path: Path
) -> None:
    out = tmp_path / "out.parquet"
    header = FILE_HEADER.itemsize
    at_first = np.frombuffer(whole, FILE_HEADER, 1).copy()
    at_first["n_records"] = 0
    cuts = np.linspace(header, len(whole), n_steps + 1).astype(int)

    with converting_packets(tmp_path, out), (tmp_path / "packets.bin").open("wb", 0) as file:
        file.write(at_first.tobytes())
        for start, end in itertools.pairwise(cuts):
            file.write(whole[start:end])
        file.seek(0)
        file.write(whole[:header])

    assert pq.read_table(out).equals(expected(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "out.parquet",
        "packets.bin",
        "whole",
    ]
    # What was read is a hole: the writer had the memory again.
    assert (tmp_path / "packets.bin").stat().st_blocks * 512 < len(whole) // 2


def test_a_writer_that_fails_leaves_nothing(whole: bytes, tmp_path: Path) -> None:
    def write_half() -> None:
        with converting_packets(tmp_path, tmp_path / "out.parquet"):
            (tmp_path / "packets.bin").write_bytes(whole[: len(whole) // 2])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()

    assert sorted(path.name for path in tmp_path.iterdir()) == ["packets.bin", "whole"]


def test_what_stood_there_stays_when_it_fails(whole: bytes, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    out.write_text("before")

    with pytest.raises(ZeroDivisionError), converting_packets(tmp_path, out):
        raise ZeroDivisionError

    assert out.read_text() == "before"
