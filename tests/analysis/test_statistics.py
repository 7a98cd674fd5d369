import subprocess
import sys
from fractions import Fraction
from itertools import product
from math import comb, sqrt

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from taut.analysis.blocks import SCHEMA
from taut.analysis.statistics import EMPTY, selections, summarise, summary_of
from taut.core.percentiles import PERCENTILES, percentile_rank


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
    return summarise(pa.concat_tables(tables), "latency", selections(directions))


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


def test_the_interval_of_a_median_has_the_ranks_that_a_fair_coin_gives():
    n = 39
    at_most = np.cumsum([comb(n, k) for k in range(n + 1)]) / 2**n
    low, high = np.searchsorted(at_most, [0.025, 0.975])

    main = summaries(distribution(range(1, n + 1)))["main"]

    assert main.intervals["p50"] == (low, high + 1) == (13, 27)


@pytest.mark.parametrize("n", [1, 2, 39, 1000, 20_001, 1_000_000])
def test_interval_has_the_ranks_of_the_binomial_distribution(n: int):
    ranks = np.arange(1, n + 1)

    got = summary_of(ranks, np.ones(n, np.int64)).intervals

    for name, (over, under) in PERCENTILES.items():
        low, high = (int(k) for k in binom.ppf([0.025, 0.975], n, over / under))
        expected = (low if low >= 1 else None, high + 1 if high < n else None)
        assert got[name] == expected, name


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


def test_how_far_percentiles_are_known_is_of_the_same_packets():
    slow = {(0, 0, False), (1, 0, True), (2, 1, False)}
    keys = list(product(range(40), (0, 1), (False, True)))
    latencies = [900 if key in slow else 100 for key in keys]
    columns = [*zip(*keys, strict=True), latencies, [100] * len(keys)]
    blocks = pa.table(dict(zip(SCHEMA.names, columns, strict=True)), SCHEMA)
    parts = [
        distribution([latency] * 100, direction=direction, void=void)
        for (_, direction, void), latency in zip(keys, latencies, strict=True)
    ]

    got = summarise(pa.concat_tables(parts), "latency", selections((0, 1)), blocks=blocks)

    assert {name: s.supports["p99.9"].n_blocks_above for name, s in got.items() if s.n} == {
        "main": 3,
        "without_void": 2,
        "main_0": 2,
        "without_void_0": 1,
        "main_1": 1,
        "without_void_1": 1,
    }


def test_nothing_seen_is_none_and_not_zero():
    assert summaries(distribution([]))["main"] is EMPTY
    assert EMPTY.figures().p50_ns is None


def test_long_latencies_do_not_overflow():
    thirty_seconds = 30_000_000_000

    main = summaries(distribution([thirty_seconds] * 1000 + [0] * 1000))["main"]

    assert main.mean == thirty_seconds / 2
    assert main.stdev == pytest.approx(thirty_seconds / 2, rel=1e-3)


@pytest.mark.parametrize(
    ("scale", "times"), [(1, 1), (2**31, 3), (2**40, 2), (2**62, 1), (10, 2**31)]
)
def test_moments_are_exact_fractions_rounded_once(scale, times):
    values = [v * scale for v in (-2, -1, 0, 0, 1)]
    n = [times * k for k in (1, 2, 3, 1, 7)]

    got = summary_of(np.array(values), np.array(n), intervals=False)

    total = sum(n)
    first = sum(Fraction(v * k) for v, k in zip(values, n, strict=True))
    second = sum(Fraction(v * v * k) for v, k in zip(values, n, strict=True))
    assert got.mean == float(first / total)
    assert got.stdev == sqrt((second - first * first / total) / (total - 1))


def test_order_and_repeated_values_do_not_matter():
    rng = np.random.default_rng(3)
    values, n = rng.integers(-50, 10**10, 500), rng.integers(0, 9, 500)
    shuffled = rng.permutation(500)

    got = summary_of(values[shuffled], n[shuffled])

    assert got == summary_of(np.sort(np.repeat(values, n)), np.ones(n.sum(), np.int64))


@pytest.mark.parametrize(
    ("intervals", "unwanted"),
    [(False, ("scipy", "pyarrow", "duckdb")), (True, ("scipy.stats", "pyarrow", "duckdb"))],
)
def test_what_takes_long_to_import_is_not_where_it_is_not_needed(
    intervals: bool, unwanted: tuple[str, ...]
):
    code = (
        "import sys, numpy; from taut.analysis.statistics import summary_of; "
        f"summary_of(numpy.array([1]), numpy.array([1]), intervals={intervals}); "
        f"sys.exit(bool({set(unwanted)} & set(sys.modules)))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
