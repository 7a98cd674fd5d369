import numpy as np
import pyarrow as pa
import pytest

from taut.analysis.statistics import EMPTY, PERCENTILES, percentile_rank, selections, summarise
from taut.storage.engines import open_engine


def distribution(values, *, cold=False, void=False, direction=0, metric="latency"):
    distinct, n = np.unique(np.asarray(values, np.int64), return_counts=True)
    rows = len(distinct)
    return pa.table(
        {
            "metric": [metric] * rows,
            "direction": pa.array([direction] * rows, pa.int32()),
            "is_void": [void] * rows,
            "is_cold": [cold] * rows,
            "value_ns": distinct,
            "n": n.astype(np.int64),
        }
    )


def summaries(*tables, directions=(0,)):
    with open_engine("duckdb") as engine:
        engine.load({"distribution": pa.concat_tables(tables)})
        return summarise(engine, "latency", selections(directions))


@pytest.mark.parametrize("n", [1, 2, 9, 10, 11, 1000, 20_001])
def test_percentile_is_smallest_value_with_enough_share(n):
    values = np.sort(np.random.default_rng(n).integers(100, 5000, n))

    main = summaries(distribution(values))["main"]

    for name, (over, under) in PERCENTILES.items():
        enough = [v for i, v in enumerate(values, 1) if i * under >= n * over]
        assert main.percentiles[name] == enough[0], name
        assert main.n_above[name] == n - percentile_rank(n, (over, under))
    assert (main.n, main.least, main.greatest) == (n, values[0], values[-1])
    assert main.mean == pytest.approx(values.mean(), rel=1e-12)
    assert main.stdev == pytest.approx(values.std(ddof=1) if n > 1 else 0.0, rel=1e-9)


def test_support_needs_ten_packets_above():
    assert "p99" in summaries(distribution(range(999)))["main"].unsupported()
    assert "p99" not in summaries(distribution(range(1000)))["main"].unsupported()


def test_interval_covers_the_true_quantile_95_times_in_100():
    rng = np.random.default_rng(5)
    true = 90_000
    hits = 0
    for _ in range(200):
        interval = summaries(distribution(rng.integers(1, 100_001, 400)))["main"].intervals["p90"]
        hits += interval[0] <= true <= interval[1]

    assert 180 <= hits <= 200


def test_interval_has_no_upper_end_where_packets_do_not_reach():
    main = summaries(distribution(range(100)))["main"]

    assert main.intervals["p99.9"][1] is None


def test_populations_are_kept_apart():
    got = summaries(
        distribution([10, 20, 30]),
        distribution([1000], void=True),
        distribution([77], cold=True),
        distribution([5, 5], direction=1),
        directions=(0, 1),
    )

    assert {name: s.n for name, s in got.items()} == {
        "main": 6,
        "without_void": 5,
        "cold": 1,
        "main_0": 4,
        "without_void_0": 3,
        "main_1": 2,
        "without_void_1": 2,
    }
    assert got["main"].greatest == 1000
    assert got["without_void"].greatest == 30


def test_nothing_seen_is_none_and_not_zero():
    assert summaries(distribution([]))["main"] is EMPTY
    assert EMPTY.as_json()["p50"] is None


def test_long_latencies_do_not_overflow():
    thirty_seconds = 30_000_000_000

    main = summaries(distribution([thirty_seconds] * 1000 + [0] * 1000))["main"]

    assert main.mean == thirty_seconds / 2
    assert main.stdev == pytest.approx(thirty_seconds / 2, rel=1e-3)
