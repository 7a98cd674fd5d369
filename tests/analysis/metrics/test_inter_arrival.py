"""Inter-arrival follows the order of receipt, whatever the order of sending and the chunks."""

import numpy as np
import pytest

from made_packets import COLD, VOID, packet, write_packets
from taut.analysis import tables
from taut.analysis.distribution import measure_packets, select_metric
from taut.storage.engines import open_engine


def inter_arrivals(path):
    with open_engine("duckdb") as engine:
        rows = select_metric(measure_packets(engine, path, 1).distribution, "inter_arrival")
    return rows.to_pylist()


def values(rows):
    return [row["value_ns"] for row in rows for _ in range(row["n"])]


@pytest.mark.parametrize("size", [7, 50, 1000])
def test_reordering_and_loss_across_chunks_change_nothing(size, tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    latency = rng.integers(500, 45_000, 100)  # overtakes up to four packets sent 10 us apart
    rows = [packet(i, None if i % 11 == 3 else int(latency[i])) for i in range(100)]
    rows += [packet(i, int(latency[-1 - i]), direction=1) for i in range(100)]
    monkeypatch.setattr(tables, "CHUNK_PACKETS", size)
    monkeypatch.setattr(tables, "REORDER_CONTEXT", 10)

    got = inter_arrivals(write_packets(tmp_path / "p.parquet", rows))

    for direction in (0, 1):
        received = sorted(
            r["received_ns"] for r in rows if r["direction"] == direction and r["received_ns"]
        )
        mine = [row for row in got if row["direction"] == direction]
        assert values(mine) == sorted(np.diff(received).tolist())


def test_a_pair_is_void_or_cold_when_either_packet_is(tmp_path):
    rows = [packet(0, flags=COLD), packet(1), packet(2, flags=VOID), packet(3), packet(4)]

    got = inter_arrivals(write_packets(tmp_path / "p.parquet", rows))

    counted = {(r["is_void"], r["is_cold"]): r["n"] for r in got}
    assert counted == {(False, True): 1, (True, False): 2, (False, False): 1}


def test_two_packets_of_one_burst_arrive_at_distance_zero(tmp_path):
    rows = [packet(0, 20_000), packet(1, 10_000), packet(2, 1000)]

    assert values(inter_arrivals(write_packets(tmp_path / "p.parquet", rows))) == [0, 1000]
