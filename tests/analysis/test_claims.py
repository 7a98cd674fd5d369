"""What may be claimed: nothing of few runs, hardly anything where nothing differs, else enough."""

import numpy as np
import pytest

from taut.analysis.claim_words import change_words, times_words
from taut.analysis.claims import (
    ERROR,
    LEAST_RUNS,
    Said,
    compare_groups,
    compare_pairs,
    judge_table,
    runs_needed,
)

CLAIMS = {Said.LESS, Said.MORE}


def said(table):
    return [judged.said for judged in judge_table(table)]


def runs(rng, n, shift=0.0):
    """Medians of runs of one device: half a percent apart, and a tenth of them in a slow band."""
    slow = rng.uniform(size=n) < 0.1
    return list(3000 * np.exp(rng.normal(shift, 0.005, n) + 0.2 * slow))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_fewer_than_four_runs_a_side_claim_nothing_whatever_they_show(n):
    first, second = [1000.0 + i for i in range(n)], [9000.0 + i for i in range(30)]

    assert said([compare_groups(first, second)]) == [Said.TOO_FEW]
    assert said([compare_groups(second, first)]) == [Said.TOO_FEW]


def test_four_runs_a_side_claim_what_does_not_overlap():
    first, second = [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]

    assert said([compare_groups(first, second)]) == [Said.MORE]
    assert said([compare_groups(second, first)]) == [Said.LESS]


def test_a_table_too_long_for_its_runs_says_too_few_and_not_no_difference():
    evidence = compare_groups([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0])

    # 0.0286 times 1 + 1/2 is below 0.05, times 1 + 1/2 + 1/3 above.
    assert said([evidence] * 2) == [Said.MORE] * 2
    assert said([evidence] * 3) == [Said.TOO_FEW] * 3


@pytest.mark.parametrize(("n", "expected"), [(5, Said.TOO_FEW), (6, Said.MORE)])
def test_pairs_claim_from_the_number_with_which_the_exact_test_can(n, expected):
    assert said([compare_pairs([0.1 + i / 1000 for i in range(n)])]) == [expected]


def test_a_figure_without_enough_runs_costs_the_others_nothing():
    clear = compare_groups([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0])
    few = compare_groups([1.0], [2.0])

    judged = judge_table([few, clear, few])

    assert [j.said for j in judged] == [Said.TOO_FEW, Said.MORE, Said.TOO_FEW]
    assert judged[0].p_corrected is None
    assert judged[1].p_corrected == pytest.approx(2 / 70)


def test_ties_and_equal_runs_claim_nothing():
    assert said([compare_groups([3.0] * 6, [3.0] * 6)]) == [Said.NOTHING]
    assert said([compare_pairs([0.0] * 8)]) == [Said.NOTHING]


def test_evidence_names_the_effect_its_interval_and_its_reach():
    found = compare_groups([10.0, 11.0, 12.0, 13.0, 14.0], [20.0, 21.0, 22.0, 23.0, 24.0])

    assert (found.estimate, found.least, found.greatest) == (10.0, 6.0, 14.0)
    assert found.least < found.low < found.estimate < found.high < found.greatest
    assert found.n_runs == (5, 5)


@pytest.mark.parametrize("n_figures", [1, 2, 6, 7, 20])
@pytest.mark.parametrize("is_paired", [True, False])
def test_the_runs_needed_are_the_fewest_that_claim_a_single_difference(n_figures, is_paired):
    def table(n, n_differing):
        if is_paired:
            clear, same = compare_pairs([1.0 + i / 9 for i in range(n)]), compare_pairs([0.0] * n)
        else:
            # Values that interleave: the test says 1.
            first = [float(i) for i in range(n)]
            clear, same = (
                compare_groups(first, [i + 99.0 for i in first]),
                compare_groups(first, first),
            )
        return [clear] * n_differing + [same] * (n_figures - n_differing)

    for n_differing in {1, n_figures}:
        n = runs_needed(n_figures, is_paired=is_paired, n_differing=n_differing)
        assert said(table(n, n_differing))[0] is Said.MORE
        if n > LEAST_RUNS:
            assert said(table(n - 1, n_differing))[0] is not Said.MORE


@pytest.mark.parametrize("n_runs", [4, 5, 10])
def test_where_nothing_differs_hardly_a_table_claims_anything(n_runs):
    """Tables of seven figures of one device, whose runs spread as real ones do."""
    rng = np.random.default_rng(n_runs)
    tables = 100

    claimed = sum(
        bool(
            CLAIMS
            & set(said([compare_groups(runs(rng, n_runs), runs(rng, n_runs)) for _ in range(7)]))
        )
        for _ in range(tables)
    )

    assert claimed <= ERROR * tables


def test_drift_of_the_machine_is_no_difference_between_sides_measured_in_turn():
    """Half a percent a run: groups of runs would differ by it, pairs do not."""
    rng = np.random.default_rng(1)
    tables, n = 200, 10
    claimed = 0
    for _ in range(tables):
        drift = 0.005 * np.arange(2 * n) + rng.normal(0, 0.005, 2 * n)
        # A B B A: each is as often first as second.
        swap = np.arange(n) % 2
        pairs = drift.reshape(n, 2)
        a, b = pairs[np.arange(n), swap], pairs[np.arange(n), 1 - swap]
        claimed += said([compare_pairs(list(b - a))])[0] in CLAIMS

    assert claimed <= ERROR * tables


def test_what_differs_by_more_than_runs_do_is_found():
    rng = np.random.default_rng(2)

    found = [
        said([compare_groups(runs(rng, 8), runs(rng, 8, 0.3)) for _ in range(7)]) for _ in range(50)
    ]

    assert sum(claims == [Said.MORE] * 7 for claims in found) >= 45


def test_a_small_effect_that_is_claimed_is_told_from_none():
    evidence = compare_pairs([0.004 + 0.0001 * n for n in range(-3, 4)])
    [judged] = judge_table([evidence])

    interval = "95 % interval 1.004 to 1.004"
    assert change_words(evidence, judged) == f"1.004 times longer, {interval}"
    assert times_words(evidence, judged, "eager") == f"1.004 times eager, {interval}"
