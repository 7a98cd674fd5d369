"""What may be claimed of one figure: neither too much nor nothing."""

import numpy as np
import pytest
from scipy.stats import ttest_ind

from taut.analysis.difference import (
    Shown,
    Side,
    difference,
    percent,
    repetition_interval,
    sides_of,
)
from taut.analysis.statistics import PERCENTILES, summary_of


def sides(values, repetitions=1):
    blocks = [
        summary_of(np.sort(part), np.ones(len(part), np.int64)).as_json()
        for part in np.array_split(values, repetitions)
    ]
    return sides_of(summary_of(np.sort(values), np.ones(len(values), np.int64)), blocks)


def differences(a, b, repetitions=1):
    of_a, of_b = sides(a, repetitions), sides(b, repetitions)
    return {name: difference(name, of_a[name], of_b[name]) for name in of_a}


def made(rng, n=20_000, shift=0):
    return (3_000 + shift + rng.gamma(2.0, 100.0, n)).astype(np.int64)


def test_a_shift_is_claimed_with_an_interval_that_holds_it():
    rng = np.random.default_rng(1)

    found = differences(made(rng), made(rng, shift=-300))

    p50 = found["p50"]
    assert p50.shown is Shown.FASTER
    assert p50.improvement == pytest.approx(300 / 3170, abs=0.01)
    low, high = p50.interval_ns
    assert low < 300 < high
    assert found["mean"].shown is Shown.FASTER


def test_the_other_way_round_it_is_slower_by_the_same():
    rng = np.random.default_rng(1)
    a, b = made(rng), made(rng, shift=-300)

    one, other = differences(a, b)["p90"], differences(b, a)["p90"]

    assert other.shown is Shown.SLOWER
    assert other.interval_ns == (-one.interval_ns[1], -one.interval_ns[0])


def test_where_there_is_no_difference_hardly_a_table_claims_one():
    rng = np.random.default_rng(2)

    claimed = sum(
        any(d.shown in (Shown.FASTER, Shown.SLOWER) for d in found.values())
        for found in (differences(made(rng, 5_000), made(rng, 5_000)) for _ in range(200))
    )

    assert claimed <= 16  # about one in 20 is what the docstring promises


def test_repetitions_that_scatter_take_the_claim_back():
    rng = np.random.default_rng(3)
    a = np.concatenate([made(rng, shift=s) for s in (0, 800, 100)])
    b = np.concatenate([made(rng, shift=s) for s in (-300, 500, 600)])

    assert differences(a, b, 1)["p50"].shown is not Shown.NOTHING
    assert differences(a, b, 3)["p50"].shown is Shown.NOTHING


def test_repetitions_that_agree_leave_the_claim():
    rng = np.random.default_rng(3)
    a, b = made(rng, 60_000), made(rng, 60_000, shift=-300)

    assert differences(a, b, 3)["p99"].shown is Shown.FASTER


def test_percentiles_without_support_and_extremes_are_never_claimed():
    rng = np.random.default_rng(4)

    found = differences(made(rng, 5_000), made(rng, 5_000, shift=-2_000))

    assert found["p99"].shown is Shown.FASTER
    for name in ("p99.9", "p99.99", "p99.999", "p99.9999", "min", "max"):
        assert found[name].shown is Shown.UNSUPPORTED
        assert found[name].improvement_interval is None
    assert found["max"].improvement > 0  # still shown


@pytest.mark.parametrize("n", [0, 1, 12])
def test_few_packets_claim_nothing(n):
    values = np.arange(n, dtype=np.int64) + 1

    found = differences(values, values * 3)

    assert {d.shown for d in found.values()} == {Shown.UNSUPPORTED}
    assert set(found) == {"min", "mean", *PERCENTILES, "max"}


def test_negative_latencies_have_a_difference_but_no_percentage():
    rng = np.random.default_rng(5)

    p50 = differences(made(rng) - 5_000, made(rng) - 6_000)["p50"]

    assert p50.shown is Shown.FASTER
    assert (p50.improvement, p50.improvement_interval) == (None, None)


def test_interval_of_repetitions_is_welchs():
    a, b = [10.0, 12.0, 17.0], [9.0, 9.5, 9.1, 9.3]
    expected = ttest_ind(a, b, equal_var=False).confidence_interval(0.95)

    assert repetition_interval(a, b) == pytest.approx((expected.low, expected.high))


def test_a_single_measurement_is_taken_to_spread_like_the_repeated_one():
    low, high = repetition_interval([10.0, 12.0, 14.0], [9.0])

    # Student's t of 2 degrees, 4.303, times 2 times the root of 1 + 1/3.
    assert (low, high) == pytest.approx((3 - 9.937, 3 + 9.937), abs=0.01)
    assert repetition_interval([1.0], [2.0]) is None
    assert repetition_interval([5.0, 5.0], [3.0]) == (2.0, 2.0)


def test_the_wider_of_both_intervals_counts():
    narrow = Side(100.0, (99.0, 101.0), 500, [100.0, 100.0])
    other = Side(90.0, (80.0, 95.0), 500, [90.0, 90.0])

    assert difference("p50", narrow, other).interval_ns == (2.0, 23.0)


@pytest.mark.parametrize(("shift", "shown"), [(1, Shown.NOTHING), (-3, Shown.FASTER)])
def test_what_rounding_of_stamps_explains_is_not_claimed(shift, shown):
    grid = np.repeat([3162, 3175, 3213], 20_000)

    assert differences(grid, grid + shift)["p90"].shown is shown


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.1234, "+12"),
        (-0.01234, "-1.2"),
        (0.00123, "+0.12"),
        (0, "0"),
        (-0.00001, "0"),
        (-9, "-900"),
    ],
)
def test_percent_has_the_digits_that_count(share, text):
    assert percent(share) == text
