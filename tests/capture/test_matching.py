"""The engines' join against the reference, on pairs made to meet every rule, and the real pair."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capture import reference
from capture.pairs import SMALL_PAIRS, assert_latencies_are, expected, real_pair, rows_of
from made_captures import (
    Frame,
    default_key,
    frames_table,
    made_frame,
    made_pair,
    planted_pair,
    shift_clock,
    tangled_pair,
)
from stages import SPARK_AT_LENGTH
from taut.capture.matching import class_counts, match_in_engine
from taut.core.errors import InputError
from taut.records.convert import PACKET_SCHEMA
from taut.records.layout import PacketFlag
from taut.storage.engine import Engine
from taut.storage.engines import open_engine

WINDOW_NS = 20_000_000  # of planted_pair


def matched_rows(engine: Engine) -> Counter[tuple[int | None, ...]]:
    names = ", ".join(PACKET_SCHEMA.names)
    return rows_of(engine.query(f"SELECT {names} FROM matched_record ORDER BY seq"))


def assert_agrees(
    engine: Engine,
    ingress: list[Frame],
    egress: list[Frame],
    window_ns: int,
    skip_ns: int = 0,
) -> reference.Matching:
    expected = reference.match_frames(ingress, egress, window_ns)

    match_in_engine(engine, frames_table(ingress), frames_table(egress), window_ns, skip_ns)

    assert matched_rows(engine) == reference.rows(expected, skip_ns)
    assert vars(class_counts(engine)) == reference.counts(expected, skip_ns)
    return expected


@pytest.fixture(scope="module")
def duckdb() -> Iterator[Engine]:
    with open_engine("duckdb") as engine:
        yield engine


@pytest.fixture(scope="module")
def engine(engine_at: tuple[str, str | None]) -> Iterator[Engine]:
    with open_engine(*engine_at) as opened:
        yield opened


ANY_SMALL_PAIR = given(pair=SMALL_PAIRS, window_ns=st.integers(1, 12), skip_ns=st.integers(0, 30))


@settings(max_examples=60, deadline=None)
@ANY_SMALL_PAIR
def test_duckdb_agrees_with_the_reference_on_small_pairs(
    duckdb: Engine, pair: tuple[list[Frame], list[Frame]], window_ns: int, skip_ns: int
) -> None:
    assert_agrees(duckdb, *pair, window_ns, skip_ns)


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@ANY_SMALL_PAIR
def test_duckdb_agrees_with_the_reference_on_many_small_pairs(
    duckdb: Engine, pair: tuple[list[Frame], list[Frame]], window_ns: int, skip_ns: int
) -> None:
    assert_agrees(duckdb, *pair, window_ns, skip_ns)


TANGLES = ((3, 5), (200, 40), (600, 50), (2_000, 400))  # number of keys, window


@pytest.mark.parametrize(("n_keys", "window_ns"), TANGLES)
def test_duckdb_agrees_with_the_reference_on_tangled_pairs(
    duckdb: Engine, n_keys: int, window_ns: int
) -> None:
    pair = tangled_pair(n_keys, 1_500, n_keys)

    assert_agrees(duckdb, *pair, window_ns, skip_ns=500)


@SPARK_AT_LENGTH
def test_every_engine_agrees_with_the_reference_on_a_tangled_pair(engine: Engine) -> None:
    pair = tangled_pair(1, 1_500, 200)

    matching = assert_agrees(engine, *pair, window_ns=40, skip_ns=500)

    assert all(n > 0 for n in reference.counts(matching, skip_ns=500).values())


@SPARK_AT_LENGTH
def test_planted_faults_are_counted_as_they_were_planted(engine: Engine) -> None:
    pair = planted_pair(WINDOW_NS)

    assert_agrees(engine, pair.ingress, pair.egress, WINDOW_NS)

    found = vars(class_counts(engine))
    assert {name: n for name, n in found.items() if n} == dict(pair.truth)


def test_counts_reconcile_with_the_frames(duckdb: Engine) -> None:
    pair = planted_pair(WINDOW_NS)

    match_in_engine(duckdb, frames_table(pair.ingress), frames_table(pair.egress), WINDOW_NS)

    n = vars(class_counts(duckdb))
    assert n["ingress_frames"] == len(pair.ingress)
    assert n["ingress_frames"] == (
        n["matched"] + n["lost"] + n["ambiguous_ingress"] + n["truncated_ingress"]
    )
    assert n["egress_frames"] == len(pair.egress)
    assert n["egress_frames"] == (
        n["matched"]
        + n["duplicates"]
        + n["beyond_window"]
        + n["orphans"]
        + n["ambiguous_egress"]
        + n["truncated_egress"]
    )


def test_an_egress_clock_behind_the_ingress_clock_gives_negative_latencies(
    duckdb: Engine,
) -> None:
    pair = made_pair(100)
    shift_clock(pair, -5_000)

    match_in_engine(duckdb, frames_table(pair.ingress), frames_table(pair.egress), WINDOW_NS)

    found = vars(class_counts(duckdb))
    assert (found["matched"], found["negative"], found["lost"]) == (100, 100, 0)
    assert {row[7] - row[6] for row in matched_rows(duckdb)} == {3175 - 5_000}


@SPARK_AT_LENGTH
@pytest.mark.parametrize(("n_ingress", "n_egress"), [(0, 0), (3, 0), (0, 3)])
def test_an_empty_side_is_no_fault(engine: Engine, n_ingress: int, n_egress: int) -> None:
    pair = made_pair(3)

    assert_agrees(engine, pair.ingress[:n_ingress], pair.egress[:n_egress], WINDOW_NS)


def test_time_before_the_first_frame_is_warm_without_a_warm_up(duckdb: Engine) -> None:
    ingress = [made_frame(1_000, 0), made_frame(990, 1), made_frame(1_010, 2)]
    egress = [made_frame(1_001, 0, 1), made_frame(995, 1, 1), made_frame(990, 7, 1)]

    assert_agrees(duckdb, ingress, egress, window_ns=100)

    assert all(row[4] & PacketFlag.COLD == 0 for row in matched_rows(duckdb))


def test_out_of_sequence_is_seen_across_the_blocks_of_its_running_maximum(
    duckdb: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from taut.capture import matching

    blocks = matching._SEQUENCED_PAIR.replace(str(matching._BLOCK_FRAMES), "4")
    monkeypatch.setattr(matching, "_SEQUENCED_PAIR", blocks)
    pair = made_pair(40)
    early = pair.egress.pop(30)
    pair.egress.insert(38, pair.egress.pop(10))  # last but one in the file
    pair.egress.insert(2, early)  # so that 2 to 29 are out of sequence, 10 among them

    matching = assert_agrees(duckdb, pair.ingress, pair.egress, WINDOW_NS)

    assert reference.counts(matching)["out_of_sequence"] == 28


def test_many_frames_of_one_key_take_no_quadratic_time(duckdb: Engine) -> None:
    n = 200_000
    ts_ns = np.arange(n) * 1_000
    key = pa.array([default_key(made_frame(0, 7))] * n, pa.binary())
    table = frames_table([made_frame(0, 7)]).schema.empty_table()
    table = pa.table([np.arange(n), ts_ns, ts_ns, key, np.full(n, 100, np.int32)], table.schema)

    match_in_engine(duckdb, table, table, WINDOW_NS)

    found = vars(class_counts(duckdb))
    assert (found["ambiguous_ingress"], found["ambiguous_egress"]) == (n, n)
    assert found["duplicate_keys"] == 1


def test_a_window_of_nothing_is_refused(duckdb: Engine) -> None:
    table = frames_table([])

    with pytest.raises(InputError, match="window of 0 ns: must be above 0"):
        match_in_engine(duckdb, table, table, 0)


@pytest.fixture(scope="module")
def real_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("real")
    paths = folder / "ingress.parquet", folder / "egress.parquet"
    for path, frames in zip(paths, real_pair(), strict=True):
        pq.write_table(frames_table(frames), path)
    return paths


def test_the_real_pair_gives_what_is_known_of_it(
    real_files: tuple[Path, Path], duckdb: Engine
) -> None:
    """Of the other engines tests/acceptance/test_captures.py says so, by way of every number."""
    match_in_engine(duckdb, *real_files, 5 * 10**9, skip_ns=10**9)

    found = {name: n for name, n in vars(class_counts(duckdb)).items() if n}
    assert found == {
        "ingress_frames": 300_000,
        "egress_frames": 300_000,
        "matched": 300_000,
        "skipped_warmup": 300_000 - expected()["filtered"]["n"],
    }
    packets = duckdb.query(
        "SELECT sent_ns, received_ns - sent_ns AS latency_ns, flags"
        " FROM matched_record ORDER BY seq"
    )
    sent_ns, latency_ns, flags = (column.to_numpy() for column in packets.columns)
    assert_latencies_are(latency_ns, expected()["unfiltered"])
    assert_latencies_are(latency_ns[flags & PacketFlag.COLD == 0], expected()["filtered"])
    assert_latencies_are(latency_ns[sent_ns >= 15 * 10**9], expected()["after15s"])
