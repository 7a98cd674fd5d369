"""Pairs of runs: the exact test, its interval, and how often both claim what is not there."""

from dataclasses import astuple
from math import inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from taut.analysis import paired
from taut.analysis.paired import (
    factor,
    hodges_lehmann,
    interval_words,
    least_pairs,
    paired_ratio,
    signed_rank_p,
)

differences = st.lists(
    st.floats(-5, 5, allow_nan=False).filter(lambda d: abs(d) > 1e-6),
    min_size=5,
    max_size=14,
    unique_by=abs,
)


@given(differences)
def test_p_is_that_of_scipys_exact_test(values: list[float]):
    assert signed_rank_p(values) == pytest.approx(wilcoxon(values, method="exact").pvalue)


def test_ties_count_by_their_mean_rank():
    # Ranks 1.5, 1.5, 3: of 8 ways to sign them 2 have a sum of 0 or 6.
    assert signed_rank_p([1.0, 1.0, 2.0]) == 2 / 8


def test_pairs_without_a_difference_say_nothing():
    assert signed_rank_p([0.0, 0.0, 1.0, 2.0, 3.0]) == signed_rank_p([1.0, 2.0, 3.0])
    assert signed_rank_p([0.0] * 7) == 1.0


@given(differences)
def test_the_interval_excludes_no_effect_exactly_where_the_test_does(values: list[float]):
    n = len(values)
    for confidence in (0.9, 0.95, 0.984):
        if n < least_pairs(confidence):
            continue
        interval = hodges_lehmann(values, confidence)
        assert interval.low <= interval.estimate <= interval.high
        assert (not interval.low <= 0 <= interval.high) == (
            signed_rank_p(values) <= 1 - confidence + 1e-12
        )


@pytest.mark.parametrize(("confidence", "n"), [(0.95, 6), (0.975, 7), (0.984, 7), (0.994, 9)])
def test_the_fewest_pairs_are_what_the_test_needs(confidence: float, n: int):
    assert least_pairs(confidence) == n
    assert 2 / 2**n <= 1 - confidence < 2 / 2 ** (n - 1)
    with pytest.raises(ValueError, match="too few"):
        paired_ratio([0.1] * (n - 1), confidence)


def test_a_ratio_is_told_as_a_ratio():
    found = paired_ratio([log(0.5) + 0.01 * i for i in range(-3, 4)], 0.975)

    assert found.ratio == pytest.approx(0.5, rel=0.02)
    assert found.low < 0.5 < found.high < 1
    assert found.is_shown
    assert found.p_value == 2 / 2**7


def test_where_nothing_differs_it_claims_no_more_than_it_may():
    """Heavy tails, as latencies have: 4000 sets of seven pairs of one distribution."""
    rng = np.random.default_rng(5)
    sets = 4000
    logs = np.log(rng.pareto(1.1, (sets, 7, 2)) + 0.01)

    claimed = sum(paired_ratio(list(of[:, 1] - of[:, 0]), 0.975).is_shown for of in logs)

    # At seven pairs the test can only say 2 / 128 = 1.6 %; four standard deviations above it.
    p = 2 / 128
    assert claimed <= sets * p + 4 * (sets * p * (1 - p)) ** 0.5


def test_pairs_without_a_size_leave_an_end_open_and_too_many_the_estimate() -> None:
    few = paired_ratio([inf, *[log(2)] * 6], 0.984)
    assert (few.low, few.ratio, few.high) == (pytest.approx(2), pytest.approx(2), None)
    assert few.is_shown
    assert interval_words(few.low, few.high) == "2.00 or more"

    less = paired_ratio([-inf, *[log(0.5)] * 6], 0.984)
    assert interval_words(less.low, less.high) == "0.50 or less"

    both = paired_ratio([-inf, inf, *[log(2)] * 5], 0.984)
    assert (both.ratio, both.is_shown) == (pytest.approx(2), False)
    assert interval_words(both.low, both.high) == "without ends"

    assert paired_ratio([inf] * 3 + [log(2)] * 4, 0.984).ratio is None


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (1.0, "1.00"),
        (1.004, "1.004"),
        (0.0031, "0.0031"),
        (2.0, "2.00"),
        (12.34, "12"),
        (99.6, "100"),
        (345.6, "346"),
    ],
)
def test_a_factor_is_neither_nothing_nor_one_that_is_not(ratio: float, words: str) -> None:
    assert factor(ratio) == words


@pytest.mark.parametrize("digits", [1, 9], ids=["tied", "distinct"])
def test_beyond_a_hundred_pairs_it_is_nearly_what_is_counted(
    monkeypatch: pytest.MonkeyPatch, digits: int
) -> None:
    rng = np.random.default_rng(2)
    for moved in (0.0, 0.2, 0.4):
        values = rng.normal(moved, size=100).round(digits).tolist()
        exact, interval = signed_rank_p(values), hodges_lehmann(values, 0.95)
        with monkeypatch.context() as patched:
            patched.setattr(paired, "_MOST_EXACT", 0)
            assert signed_rank_p(values) == pytest.approx(exact, rel=0.1, abs=1e-4)
            assert astuple(hodges_lehmann(values, 0.95)) == pytest.approx(
                astuple(interval), abs=0.02
            )


def test_more_than_a_thousand_pairs_are_judged_at_once() -> None:
    values = np.random.default_rng(3).normal(0.1, size=1100).tolist()

    expected = wilcoxon(values, method="asymptotic", correction=True).pvalue
    assert signed_rank_p(values) == pytest.approx(expected)
    found = hodges_lehmann(values, 0.95)
    assert 0 < found.low < found.estimate < found.high < 0.3
