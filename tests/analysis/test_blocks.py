"""Latencies by block of time."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from made_packets import COLD, VOID, packet, write_packets
from taut.analysis.blocks import (
    BLOCKS,
    LEAST_BLOCKS,
    SCHEMA,
    Seconds,
    block_length_ns,
    count_by_time,
    few,
    one_after_the_other,
    read_blocks,
)
from taut.analysis.tables import load_packets
from taut.storage.engines import open_engine

SECOND = 1_000_000_000


@pytest.mark.parametrize("span_ns", [10**6, 3 * SECOND, 10 * SECOND, 61 * SECOND, 3600 * SECOND])
def test_a_trial_has_blocks_enough_and_not_too_many(span_ns):
    length = block_length_ns(span_ns)

    assert LEAST_BLOCKS <= span_ns / length < 2.5 * LEAST_BLOCKS
    assert SECOND % length == 0 or length % SECOND == 0


def test_blocks_count_every_packet_but_the_warm_up_by_its_time_of_sending(tmp_path):
    path = tmp_path / "packets.parquet"
    # 10,000 ns apart: 100 packets a millisecond.
    rows = [packet(s, 100 + s % 7, flags=COLD) for s in range(50)]
    rows += [packet(s, 100 + s % 7, flags=VOID * (s % 10 == 0)) for s in range(50, 4_000)]
    rows += [packet(4_000, None)]
    write_packets(path, rows)

    with open_engine("duckdb") as engine:
        load_packets(engine, path)
        counted = count_by_time(engine)
    blocks = counted.blocks

    assert blocks.schema.equals(SCHEMA)
    assert sum(blocks["n"].to_pylist()) == 3_950
    per_block = blocks.group_by("block").aggregate([("n", "sum")]).sort_by("block")
    assert per_block["block"].to_pylist() == list(range(40))
    assert per_block["n_sum"].to_pylist() == [50] + [100] * 39
    void = blocks.filter(blocks["is_void"])
    assert sum(void["n"].to_pylist()) == 395


def test_nothing_received_is_no_block(tmp_path):
    path = tmp_path / "packets.parquet"
    write_packets(path, [packet(s, None) for s in range(5)])

    with open_engine("duckdb") as engine:
        load_packets(engine, path)
        assert count_by_time(engine).blocks.num_rows == 0


def made(blocks):
    n = len(blocks)
    columns = (blocks, [0] * n, [False] * n, [100] * n, [1] * n)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def test_blocks_of_repetitions_stay_apart():
    together = one_after_the_other([made([0, 0, 2]), made([0, 1]), made([]), made([0])])

    assert together["block"].to_pylist() == [0, 0, 2, 3, 4, 6]
    assert len(np.unique(together["block"].to_numpy())) == 5


def test_one_trial_without_every_packet_leaves_no_blocks(tmp_path):
    trials = [tmp_path / name for name in "ab"]
    for trial in trials:
        trial.mkdir()
        pq.write_table(made([0, 1]), trial / BLOCKS)
    assert read_blocks(trials).num_rows == 4

    (trials[1] / BLOCKS).unlink()

    assert read_blocks(trials) is None


def test_a_second_that_comes_in_parts_is_counted_as_one():
    values = np.array([3_000_001, 7, 900, 7, -5, 3_000_000])
    n = np.array([1, 2, 3, 4, 5, 6])
    seconds = Seconds()

    seconds.add(9, (values[:3], n[:3]))
    seconds.add(2, (values[4:5], n[4:5]))
    seconds.add(9, (values[3:], n[3:]))

    assert list(seconds) == [9, 2]
    assert [of.tolist() for of in seconds[9]] == [of.tolist() for of in few(values, n)]
    assert [of.tolist() for of in seconds[2]] == [[], []]
