"""Every metric on six packets whose answer fits in the head; a metric without an entry fails."""

import pytest

from made_packets import (
    DUPLICATE,
    LATE,
    ORPHAN,
    OUT_OF_SEQUENCE,
    UNSENT,
    extra,
    packet,
    write_packets,
)
from taut.analysis.distribution import measure_packets, select_metric
from taut.analysis.metric import Shape
from taut.analysis.metrics import METRICS
from taut.storage.engines import open_engine

ROWS = [
    packet(0, 1000),
    packet(1, 1300, sent_after_ns=30),
    packet(2, None),
    packet(3, 1100, flags=OUT_OF_SEQUENCE),
    packet(4, None, flags=UNSENT),
    packet(5, 1150),
    packet(6, 1050),
    extra(2, LATE),
    extra(3, DUPLICATE),
    extra(900_000, ORPHAN),
]

DISTRIBUTIONS = {
    "latency": [1000, 1050, 1100, 1150, 1300],
    "latency_from_intent": [1020, 1070, 1120, 1170, 1330],
    "jitter": [100, 300],
    "ipdv": [-100, 300],
    "pdv": [0, 50, 100, 150, 300],
    "departure_error": [20, 20, 20, 20, 20, 30],
    "inter_departure": [9990, 10_000, 10_000, 10_010],
    "inter_arrival": [9900, 10_310, 19_790, 20_050],
    "arrival_window": [50, 50, 50, 50, 50],
}
COUNTERS = {
    "loss": {"due": 7, "sent": 6, "unsent": 1, "matched": 5, "lost": 1, "void": 0},
    "extra_receipts": {"late": 1, "duplicates": 1, "orphans": 1},
    "out_of_sequence": {"out_of_sequence": 1},
}


@pytest.fixture(scope="module")
def measured(engine_at, tmp_path_factory):
    packets = write_packets(tmp_path_factory.mktemp("by_hand") / "p.parquet", ROWS)
    with open_engine(*engine_at) as engine:
        return measure_packets(engine, packets, 1)


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.name)
def test_metric_gives_the_answer_worked_out_by_hand(metric, measured):
    if metric.shape is Shape.COUNTS:
        counts = measured.counts[(0, False)]
        assert {name: counts[name] for name in COUNTERS[metric.name]} == COUNTERS[metric.name]
    else:
        rows = select_metric(measured.distribution, metric.name).to_pylist()
        values = [row["value_ns"] for row in rows for _ in range(row["n"])]
        assert values == DISTRIBUTIONS[metric.name]
