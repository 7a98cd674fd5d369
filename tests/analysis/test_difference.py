"""What may be claimed of one figure: neither too much nor nothing."""

import numpy as np
import pytest

from made_documents import made_result
from taut.analysis.difference import FIGURES, Shown, difference, judge, percent, side_of
from taut.analysis.statistics import summary_of
from taut.records.documents.json_form import plain
from taut.records.documents.results import WITHOUT_VOID


def repetition(values, warm=None):
    summary = summary_of(np.sort(values), np.ones(len(values), np.int64))
    block = plain(summary.figures())
    return made_result(
        latency_ns=block,
        latency_without_void_ns=block,
        unsupported_percentiles=summary.unsupported(),
        warm=warm or {},
    )


def differences(a, b):
    """Of the packets of every repetition of A and of B."""
    of_a, of_b = ([repetition(values) for values in side] for side in (a, b))
    table = judge([difference(name, side_of(name, of_a), side_of(name, of_b)) for name in FIGURES])
    return {one.name: one for one in table}


def made(rng, n=20_000, shift=0.0):
    return (3_000 + shift + rng.gamma(2.0, 100.0, n)).astype(np.int64)


def repeated(rng, times, shift=0.0, **how):
    """Runs that spread by a percent, as those of one device do."""
    return [made(rng, shift=shift + rng.normal(0, 30), **how) for _ in range(times)]


def test_a_shift_is_claimed_with_an_interval_that_holds_it():
    rng = np.random.default_rng(1)

    found = differences(repeated(rng, 6), repeated(rng, 6, shift=-300))

    p50 = found["p50"]
    assert p50.shown is Shown.FASTER
    assert p50.improvement == pytest.approx(300 / 3170, abs=0.02)
    low, high = p50.interval_ns
    assert low < 300 < high
    assert found["mean"].shown is Shown.FASTER


def test_the_other_way_round_it_is_slower_by_the_same():
    rng = np.random.default_rng(1)
    a, b = repeated(rng, 6), repeated(rng, 6, shift=-300)

    one, other = differences(a, b)["p90"], differences(b, a)["p90"]

    assert other.shown is Shown.SLOWER
    assert other.interval_ns == (-one.interval_ns[1], -one.interval_ns[0])


@pytest.mark.parametrize("times", [1, 2, 3])
def test_packets_of_fewer_than_four_runs_claim_nothing_however_many(times):
    rng = np.random.default_rng(2)

    found = differences(repeated(rng, times), repeated(rng, times, shift=3_000))

    assert found["p50"].shown is Shown.TOO_FEW_RUNS
    assert not {d.shown for d in found.values()} & {Shown.FASTER, Shown.SLOWER, Shown.NOTHING}
    assert found["p50"].improvement == pytest.approx(-3_000 / 3_170, abs=0.05)  # still shown
    assert found["p50"].improvement_interval is None


def test_repetitions_that_scatter_leave_no_claim():
    rng = np.random.default_rng(3)
    a = [made(rng, shift=s) for s in (0, 800, 100, 400, 300, 0)]
    b = [made(rng, shift=s) for s in (-300, 500, 600, 100, 200, 50)]

    assert differences(a, b)["p50"].shown is Shown.NOTHING


def test_percentiles_without_support_and_extremes_are_never_claimed():
    rng = np.random.default_rng(4)

    found = differences(repeated(rng, 6, n=5_000), repeated(rng, 6, n=5_000, shift=-2_000))

    assert found["p99"].shown is Shown.FASTER
    for name in ("p99.9", "p99.99", "p99.999", "p99.9999", "min", "max"):
        assert found[name].shown is Shown.UNSUPPORTED
        assert found[name].improvement_interval is None
    assert found["max"].improvement > 0  # still shown


def test_repetitions_without_support_do_not_count():
    rng = np.random.default_rng(4)
    short = [made(rng, n=500) for _ in range(3)]

    found = differences(repeated(rng, 4) + short, repeated(rng, 4))["p99"]

    assert len(found.a.repetitions_ns) == 7
    assert len(found.a.supported_ns) == 4
    assert found.a.n_above == 5
    assert found.evidence.n_runs == (4, 4)


@pytest.mark.parametrize("n", [0, 1, 12])
def test_few_packets_claim_nothing(n):
    values = np.arange(n, dtype=np.int64) + 1

    found = differences([values] * 6, [values * 3] * 6)

    assert {d.shown for d in found.values()} == {Shown.UNSUPPORTED}
    assert tuple(found) == FIGURES


def test_negative_latencies_have_a_difference_but_no_percentage():
    rng = np.random.default_rng(5)
    a, b = repeated(rng, 6, shift=-5_000), repeated(rng, 6, shift=-6_000)

    p50 = differences(a, b)["p50"]

    assert p50.shown is Shown.FASTER
    assert (p50.improvement, p50.improvement_interval) == (None, None)


@pytest.mark.parametrize(("shift", "shown"), [(1, Shown.NOTHING), (-3, Shown.FASTER)])
def test_what_rounding_of_stamps_explains_is_not_claimed(shift, shown):
    grid = np.repeat([3162, 3175, 3213], 20_000)

    assert differences([grid] * 8, [grid + shift] * 8)["p90"].shown is shown


def test_values_are_medians_of_the_repetitions_and_extremes_of_all():
    values = [np.array([base, base + 10, base + 20]) for base in (100, 200, 900)]
    trials = [repetition(of) for of in values]

    assert side_of("p50", trials).value_ns == 210
    assert side_of("min", trials).value_ns == 100
    assert side_of("max", trials).value_ns == 920
    assert side_of("p50", trials, WITHOUT_VOID).repetitions_ns == [110, 210, 910]


def test_a_repetition_that_is_void_as_a_whole_says_nothing_of_losses():
    some = np.array([100, 110, 120])
    lossy = [repetition(some, {"due": 5, "lost": 2, "void": 0}) for _ in range(4)]
    void = [repetition(some, {"due": 5, "void": 5}) for _ in range(6)]

    assert side_of("p50", [*lossy, *void], WITHOUT_VOID).gone == 0.4


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
