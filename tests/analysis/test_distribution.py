import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from made_packets import COLD, OUT_OF_SEQUENCE, VOID, packet, write_packets
from made_run import MadeTrial, make_raw_trial
from taut.analysis import distribution, tables
from taut.analysis.blocks import count_by_time
from taut.analysis.distribution import (
    add_plugins,
    measure_capture,
    measure_histogram,
    measure_packets,
    select_metric,
)
from taut.analysis.metric import Metric, distribution_sql
from taut.records.convert import convert_trial
from taut.records.layout import EXTRA_RECORD
from taut.storage.engines import open_engine


def measure(path, n_flows=1):
    with open_engine("duckdb") as engine:
        return measure_packets(engine, path, n_flows)


@pytest.fixture
def trial(tmp_path):
    made = MadeTrial(n_flows=3, n_unsent=2, n_lost=40)
    (tmp_path / "trial").mkdir()
    make_raw_trial(tmp_path / "raw", made)
    convert_trial(tmp_path / "raw", tmp_path / "trial")
    return tmp_path / "trial"


def test_chunks_do_not_change_a_number(trial, monkeypatch):
    whole = measure(trial / "packets.parquet", 3)
    monkeypatch.setattr(tables, "CHUNK_PACKETS", 2_777)
    chunked = measure(trial / "packets.parquet", 3)

    assert chunked.distribution.equals(whole.distribution)
    assert chunked.counts == whole.counts


def test_a_plugin_leaves_the_whole_trial_to_be_counted_by_time(trial, monkeypatch):
    """As of captures that an engine counts; the blocks were cut from the last chunk alone."""
    sql = distribution_sql("received_ns - due_ns", "received_ns IS NOT NULL")
    monkeypatch.setattr(distribution, "ADDED", (Metric("made", "ns", "of a plug-in", sql),))
    monkeypatch.setattr(tables, "CHUNK_PACKETS", 2_777)
    packets = trial / "packets.parquet"

    with open_engine("duckdb") as engine:
        measured = measure_capture(engine, packets, trial / "histogram.parquet")
        expected = count_by_time(engine)
        add_plugins(engine, packets, 3, measured)
        found = count_by_time(engine)

    assert found.blocks.equals(expected.blocks)


def test_rows_of_a_metric_are_found_in_a_trial_in_several_and_by_number(trial):
    one = measure(trial / "packets.parquet", 3).distribution
    several = pa.concat_tables([one, one])
    names = one["metric"].to_pylist()

    for metric in (*dict.fromkeys(names), "none"):
        rows = one.filter(pa.array([name == metric for name in names]))
        assert select_metric(one, metric).equals(rows)
        assert select_metric(several, metric).equals(pa.concat_tables([rows, rows]))
        numbered = several.set_column(0, "metric", several["metric"].dictionary_encode())
        found = select_metric(numbered, metric)
        assert found["metric"].to_pylist() == [metric] * 2 * rows.num_rows
        assert found["n"].equals(select_metric(several, metric)["n"])


def test_jitter_equals_a_loop_over_packets(trial):
    rows = pq.read_table(trial / "packets.parquet").to_pylist()
    own = {r["seq"]: r for r in rows if not r["flags"] & EXTRA_RECORD}
    latency = {
        seq: r["received_ns"] - r["sent_ns"]
        for seq, r in own.items()
        if r["received_ns"] is not None
    }
    expected = sorted(abs(v - latency[s - 3]) for s, v in latency.items() if s - 3 in latency)

    got = select_metric(measure(trial / "packets.parquet", 3).distribution, "jitter")

    values = np.repeat(got["value_ns"].to_numpy(), got["n"].to_numpy())
    assert sorted(values.tolist()) == expected


def test_histogram_of_the_generator_gives_the_same_latency(trial):
    coarse = measure_histogram(trial / "histogram.parquet")
    exact = measure(trial / "packets.parquet", 3)

    for metric in ("latency", "latency_from_intent", "departure_error", "arrival_window"):
        a, b = (select_metric(m.distribution, metric) for m in (coarse, exact))
        a_values, b_values = (
            np.sort(np.repeat(t["value_ns"].to_numpy(), t["n"].to_numpy())) for t in (a, b)
        )
        # Both stamps and their difference are rounded to nanoseconds on one of the two ways.
        assert len(a_values) == len(b_values)
        assert np.abs(a_values - b_values).max() <= 1
    assert coarse.counts is None


def test_jitter_is_void_by_its_own_flow_whatever_was_sent_between(tmp_path):
    """Packet 1 of the other flow is void: no matter for the pair 0, 2."""
    rows = [packet(0), packet(1, flags=VOID), packet(2), packet(3)]
    measured = measure(write_packets(tmp_path / "p.parquet", rows), 2)
    jitter = select_metric(measured.distribution, "jitter").to_pylist()

    assert {r["is_void"]: r["n"] for r in jitter} == {False: 1, True: 1}


def test_jitter_of_reordered_packets_is_between_neighbours_in_the_flow(tmp_path):
    """As the generator's own histogram has it: 0, 2, 1, 3 is three pairs."""
    rows = [packet(0), packet(1, 20_000, flags=OUT_OF_SEQUENCE), packet(2, 1_100), packet(3, 1_107)]
    measured = measure(write_packets(tmp_path / "p.parquet", rows))
    jitter = select_metric(measured.distribution, "jitter")

    assert jitter["value_ns"].to_pylist() == [7, 18_900, 19_000]


def test_a_pair_is_void_or_cold_when_either_packet_is(tmp_path):
    rows = [packet(0, flags=COLD), packet(1), packet(2, flags=VOID), packet(3), packet(4)]
    jitter = select_metric(
        measure(write_packets(tmp_path / "p.parquet", rows)).distribution, "jitter"
    ).to_pylist()

    counted = {(r["is_void"], r["is_cold"]): r["n"] for r in jitter}
    assert counted == {(False, True): 1, (True, False): 2, (False, False): 1}
