"""taut-match against the reference, row by row: the same frames, the same fate of each."""

import json
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capture import reference
from capture.pairs import (
    EGRESS,
    INGRESS,
    SMALL_PAIRS,
    assert_latencies_are,
    expected,
    hipnet21,
    real_pair,
    rows_of,
)
from made_captures import (
    FORMATS,
    Frame,
    frames_table,
    made_frame,
    planted_pair,
    shift_clock,
    tangled_pair,
    write_as,
)
from taut.capture.frames import EGRESS_KEYS_FILE, INGRESS_KEYS_FILE, write_frames
from taut.core.binaries import find_binary_or_none
from taut.records.convert import convert_trial
from taut.records.layout import PacketFlag

PROGRAM = find_binary_or_none("taut-match")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="needs taut-match: make build")

WINDOW_NS = 20_000_000  # of planted_pair


@dataclass(frozen=True)
class Found:
    counts: dict[str, int]
    rows: Counter[tuple[int | None, ...]]


def run_match(out: Path, ingress: Path, egress: Path, window_ns: int, skip_ns: int = 0) -> Found:
    files = ("--ingress", ingress, "--egress", egress, "--out", out, "--packets", "--keys")
    spans = ("--window", f"{window_ns}ns", "--skip", f"{skip_ns}ns")
    done = subprocess.run([PROGRAM, *files, *spans], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    convert_trial(out, out)
    counts = json.loads((out / "match.json").read_text())["counts"]
    return Found(counts, rows_of(pq.read_table(out / "packets.parquet")))


def assert_agrees(
    folder: Path,
    pair: tuple[list[Frame], list[Frame]],
    window_ns: int,
    skip_ns: int = 0,
    written_as: str = "pcap",
) -> None:
    ingress, egress = (
        write_as(folder, written_as, frames, stem)
        for frames, stem in zip(pair, ("in", "out"), strict=True)
    )

    found = run_match(folder / "results", ingress, egress, window_ns, skip_ns)

    matching = reference.match_frames(*pair, window_ns)
    assert found.rows == reference.rows(matching, skip_ns)
    assert found.counts == reference.counts(matching, skip_ns)


ANY_SMALL_PAIR = given(pair=SMALL_PAIRS, window_ns=st.integers(1, 12), skip_ns=st.integers(0, 30))


@settings(max_examples=50, deadline=None)
@ANY_SMALL_PAIR
def test_small_pairs(pair: tuple[list[Frame], list[Frame]], window_ns: int, skip_ns: int) -> None:
    with TemporaryDirectory(prefix="taut-agree-") as folder:
        assert_agrees(Path(folder), pair, window_ns, skip_ns)


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@ANY_SMALL_PAIR
def test_many_small_pairs(
    pair: tuple[list[Frame], list[Frame]], window_ns: int, skip_ns: int
) -> None:
    with TemporaryDirectory(prefix="taut-agree-") as folder:
        assert_agrees(Path(folder), pair, window_ns, skip_ns)


@pytest.mark.parametrize(("n_keys", "window_ns"), [(3, 5), (200, 40), (600, 50), (2_000, 400)])
@pytest.mark.parametrize("seed", range(3))
def test_tangled_pairs(tmp_path: Path, seed: int, n_keys: int, window_ns: int) -> None:
    assert_agrees(tmp_path, tangled_pair(seed, 1_500, n_keys), window_ns, skip_ns=500)


@pytest.mark.parametrize("written_as", FORMATS)
def test_planted_faults_in_every_format(tmp_path: Path, written_as: str) -> None:
    pair = planted_pair(WINDOW_NS)
    sides = (pair.ingress, pair.egress)
    if written_as == "microsecond":
        sides = tuple(
            [frame._replace(ts_ns=frame.ts_ns // 1_000 * 1_000) for frame in frames]
            for frames in sides
        )

    assert_agrees(tmp_path, sides, WINDOW_NS, written_as=written_as)


def test_every_latency_negative(tmp_path: Path) -> None:
    pair = planted_pair(WINDOW_NS)
    shift_clock(pair, -5_000)

    assert_agrees(tmp_path, (pair.ingress, pair.egress), WINDOW_NS)


@pytest.mark.parametrize(("n_ingress", "n_egress"), [(0, 0), (5, 0), (0, 5)])
def test_an_empty_side(tmp_path: Path, n_ingress: int, n_egress: int) -> None:
    pair = planted_pair(WINDOW_NS)

    assert_agrees(tmp_path, (pair.ingress[:n_ingress], pair.egress[:n_egress]), WINDOW_NS)


def test_time_before_the_first_frame_is_warm_without_a_warm_up(tmp_path: Path) -> None:
    ingress = [made_frame(1_000, 0), made_frame(990, 1), made_frame(1_010, 2)]
    egress = [made_frame(1_001, 0, 1), made_frame(995, 1, 1), made_frame(990, 7, 1)]

    assert_agrees(tmp_path, (ingress, egress), window_ns=100)


def test_the_keys_it_writes_are_what_the_engines_match(tmp_path: Path) -> None:
    pair = tangled_pair(7, 500, 40)

    assert_agrees(tmp_path, pair, 50)

    for name, frames in zip((INGRESS_KEYS_FILE, EGRESS_KEYS_FILE), pair, strict=True):
        write_frames(tmp_path / "results" / name, tmp_path / "frames.parquet")
        assert pq.read_table(tmp_path / "frames.parquet").equals(frames_table(frames))


def test_the_real_pair(tmp_path: Path) -> None:
    found = run_match(tmp_path, hipnet21(INGRESS), hipnet21(EGRESS), 5 * 10**9, 10**9)

    matching = reference.match_frames(*real_pair(), 5 * 10**9)
    assert found.rows == reference.rows(matching, 10**9)
    table = pq.read_table(tmp_path / "packets.parquet")
    warm = table["flags"].to_numpy() & PacketFlag.COLD == 0
    latency_ns = table["received_ns"].to_numpy() - table["sent_ns"].to_numpy()
    assert_latencies_are(latency_ns[warm], expected()["filtered"])
