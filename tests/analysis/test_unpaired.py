"""Two groups of runs: the exact test with and without ties, and its interval."""

from dataclasses import astuple
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import PermutationMethod, mannwhitneyu

from taut.analysis import unpaired
from taut.analysis.unpaired import least_rank_sum_p, rank_sum_p, shift

distinct = st.lists(st.floats(-5, 5, allow_nan=False), min_size=4, max_size=16, unique=True)
tied = st.lists(st.integers(0, 4).map(float), min_size=6, max_size=9)


@given(distinct, st.integers(1, 3))
def test_p_is_that_of_scipys_exact_test(values: list[float], n: int):
    first, second = values[:n], values[n:]

    expected = mannwhitneyu(first, second, method="exact").pvalue
    assert rank_sum_p(first, second) == pytest.approx(expected)


@settings(max_examples=30)
@given(tied, st.integers(2, 4))
def test_with_ties_it_counts_every_way_to_deal_the_values(values: list[float], n: int):
    first, second = values[:n], values[n:]

    every = mannwhitneyu(first, second, method=PermutationMethod(n_resamples=np.inf)).pvalue
    assert rank_sum_p(first, second) == pytest.approx(every)


def test_a_side_without_runs_is_refused():
    with pytest.raises(ValueError, match="without runs"):
        rank_sum_p([], [1.0])


@pytest.mark.parametrize(
    ("n_first", "n_second", "p"), [(3, 3, 0.10), (4, 4, 0.0286), (5, 5, 0.0079), (1, 30, 2 / 31)]
)
def test_the_least_p_is_what_sides_that_do_not_overlap_have(n_first, n_second, p):
    first, second = list(range(n_first)), list(range(100, 100 + n_second))

    assert rank_sum_p(first, second) == least_rank_sum_p(n_first, n_second)
    assert least_rank_sum_p(n_first, n_second) == pytest.approx(p, abs=1e-4)


@given(distinct)
def test_the_interval_excludes_no_shift_exactly_where_the_test_does(values: list[float]):
    half = len(values) // 2
    first, second = values[:half], values[half:]

    for confidence in (0.8, 0.95):
        interval = shift(first, second, confidence)
        is_shown = rank_sum_p(first, second) <= 1 - confidence + 1e-12
        if interval is None:
            assert not is_shown
            continue
        assert interval.low <= interval.estimate <= interval.high
        assert (not interval.low <= 0 <= interval.high) == is_shown


def test_the_shift_is_the_median_of_all_differences_with_its_interval():
    # 3, 4, 4, 5, 5, 5, 6, 6, 7 of 3 against 3: at 80 % one is left out at either end.
    found = shift([1.0, 2.0, 3.0], [6.0, 7.0, 8.0], 0.8)

    assert (found.estimate, found.low, found.high) == (5.0, 4.0, 6.0)
    assert shift([1.0, 2.0, 3.0], [6.0, 7.0, 8.0], 0.95) is None


def test_fifty_runs_a_side_are_counted_too():
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=50), rng.normal(0.3, size=50)

    expected = mannwhitneyu(first, second, method="exact").pvalue
    assert rank_sum_p(list(first), list(second)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("digits", [1, 9], ids=["tied", "distinct"])
@pytest.mark.parametrize(("n_first", "n_second"), [(50, 50), (20, 80)])
def test_beyond_very_many_runs_it_is_nearly_what_is_counted(
    monkeypatch: pytest.MonkeyPatch, n_first: int, n_second: int, digits: int
) -> None:
    rng = np.random.default_rng(2)
    for moved in (0.0, 0.3, 0.6):
        first = rng.normal(size=n_first).round(digits).tolist()
        second = rng.normal(moved, size=n_second).round(digits).tolist()
        exact, interval = rank_sum_p(first, second), shift(first, second, 0.95)
        with monkeypatch.context() as patched:
            patched.setattr(unpaired, "_MOST_EXACT", 0)
            unpaired._cut.cache_clear()
            assert rank_sum_p(first, second) == pytest.approx(exact, rel=0.1, abs=1e-4)
            normal = shift(first, second, 0.95)
            assert astuple(normal) == pytest.approx(astuple(interval), abs=0.02)
        unpaired._cut.cache_clear()


@pytest.mark.parametrize(("n_first", "n_second"), [(4, 97), (200, 5), (4, 2_496)])
def test_a_few_runs_beside_many_are_counted(n_first: int, n_second: int) -> None:
    first, second = list(range(n_first)), list(range(3_000, 3_000 + n_second))

    p = rank_sum_p(first, second)

    assert p == pytest.approx(2 / comb(n_first + n_second, n_first))
    assert p == least_rank_sum_p(n_first, n_second)


def test_the_least_of_very_many_runs_is_what_the_test_says_of_them() -> None:
    first, second = list(range(4)), list(range(3_000, 6_000))

    assert rank_sum_p(first, second) == pytest.approx(least_rank_sum_p(4, 3_000))


def test_a_thousand_runs_a_side_are_judged_at_once() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=1000).tolist(), rng.normal(0.2, size=1000).tolist()

    expected = mannwhitneyu(first, second, method="asymptotic").pvalue
    assert rank_sum_p(first, second) == pytest.approx(expected)
    found = shift(first, second, 0.95)
    assert found is not None
    assert 0 < found.low < found.estimate < found.high < 0.4
    assert rank_sum_p([1.0] * 1000, [1.0] * 1000) == 1.0
    assert least_rank_sum_p(1000, 1000) == 0.0
