"""Pairs in nearly the same order, which taut-match finds without its table as long as they are."""

import json
from pathlib import Path

import numpy as np
import pytest

from capture.test_agreement import PROGRAM, assert_agrees, run_match
from made_captures import Frame, made_frame, write_as
from taut.analysis.capture_engine import measure_matched
from taut.capture.series import NativeSeries
from taut.storage.engines import open_engine

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="needs taut-match: make build")

# Long enough that frames are settled many at a time.
WINDOW_NS = 40_000
SPACING_NS = 400


def nearly_in_order(seed: int, n: int, fault: float) -> tuple[list[Frame], list[Frame]]:
    """Two files of the same packets; of each fault, one in 1 / `fault`.

    Lost, doubled, swapped, stamped back in time, and keys that come back after up to 2.5 windows.
    """
    rng = np.random.default_rng(seed)
    idents = np.arange(n)
    again = np.flatnonzero(rng.random(n) < fault)
    idents[again] = np.maximum(again - rng.integers(1, 250, again.size), 0)
    times = 10**6 + SPACING_NS * np.arange(n) + rng.integers(-300, 300, n)
    left = times + 1_000 + rng.integers(0, 2_000, n) * (rng.random(n) < fault)
    left[rng.random(n) < fault] += rng.integers(-1, 3) * WINDOW_NS // 2
    came = np.flatnonzero(rng.random(n) >= fault)
    came = np.concatenate([came, came[rng.random(came.size) < fault]])
    came = came[np.argsort(left[came], kind="stable")]
    swapped = np.flatnonzero(rng.random(came.size - 1) < fault)
    came[swapped], came[swapped + 1] = came[swapped + 1], came[swapped].copy()
    ingress = [made_frame(int(at), int(who)) for at, who in zip(times, idents, strict=True)]
    return ingress, [made_frame(int(left[i]), int(idents[i]), 1) for i in came]


@pytest.mark.parametrize("fault", [0, 0.003, 0.03, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_every_frame_has_its_fate(tmp_path: Path, seed: int, fault: float) -> None:
    assert_agrees(tmp_path, nearly_in_order(seed, 1_200, fault), WINDOW_NS, skip_ns=30_000)


def test_distances_between_arrivals_are_in_the_order_of_time(tmp_path: Path) -> None:
    ingress = [made_frame(1_000_000 * i, i) for i in range(1, 4)]
    stamps = [1_100_000, 1_250_000, 1_150_000]
    egress = [made_frame(at, i, 1) for i, at in enumerate(stamps, start=1)]
    paths = [
        write_as(tmp_path, "pcap", frames, name)
        for frames, name in ((ingress, "in"), (egress, "out"))
    ]

    run_match(tmp_path / "results", *paths, 5 * 10**9)

    values, n = NativeSeries(tmp_path / "results")("inter_arrival")
    assert (values.tolist(), n.tolist()) == ([50_000, 100_000], [1, 1])


@pytest.mark.parametrize("fault", [0, 0.03])
def test_every_distance_is_what_an_engine_counts(tmp_path: Path, fault: float) -> None:
    pair = nearly_in_order(7, 1_200, fault)
    paths = [write_as(tmp_path, "pcap", *side) for side in zip(pair, ("in", "out"), strict=True)]

    run_match(tmp_path / "results", *paths, WINDOW_NS, skip_ns=30_000)

    native = NativeSeries(tmp_path / "results")
    with open_engine("duckdb", None) as engine:
        asked = measure_matched(engine, tmp_path / "results" / "packets.parquet")
    for metric in ("latency", "jitter", "ipdv", "inter_departure", "inter_arrival"):
        for found, wanted in zip(native(metric), asked(metric), strict=True):
            np.testing.assert_array_equal(found, wanted, err_msg=metric)
    assert json.loads((tmp_path / "results" / "match.json").read_text())["counts"]["matched"] > 500


def test_there_is_no_distance_across_a_frame_that_is_no_packet(tmp_path: Path) -> None:
    """Every tenth frame has the key of the others like it, and is ambiguous."""
    idents = [0 if i % 10 == 0 else i for i in range(100)]
    sides = [
        [made_frame(10_000 * (i + 1) + 1_000 * side, ident, side) for i, ident in enumerate(idents)]
        for side in (0, 1)
    ]
    paths = [write_as(tmp_path, "pcap", *of) for of in zip(sides, ("in", "out"), strict=True)]

    run_match(tmp_path / "results", *paths, 5 * 10**9)

    with open_engine("duckdb", None) as engine:
        asked = measure_matched(engine, tmp_path / "results" / "packets.parquet")
    for series in (NativeSeries(tmp_path / "results"), asked):
        values, n = series("inter_departure")
        assert (values.tolist(), n.tolist()) == ([10_000], [80])
