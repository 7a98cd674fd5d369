"""What a number of failures among independent packets shows (shared recipe: Clopper & Pearson)."""

import numpy as np
import pytest

from taut.analysis.proof import (
    Verdict,
    chance,
    may_be_luck,
    packets_needed,
    shown,
    times_as_long,
)


@pytest.mark.parametrize(
    ("n_failed", "n"), [(0, 299_573), (1, 474_386), (2, 629_579), (5, 1_051_303)]
)
def test_one_packet_less_than_is_needed_shows_nothing(n_failed, n):
    assert packets_needed(n_failed, 1e-5) == n
    assert shown(n_failed, n, 1e-5) is Verdict.MET
    assert shown(n_failed, n - 1, 1e-5) is Verdict.NOT_SHOWN


def test_where_none_may_fail_one_decides():
    assert shown(0, 10, 0.0) is Verdict.MET
    assert shown(1, 10**9, 0.0) is Verdict.NOT_MET


def test_neither_verdict_is_wrong_more_often_than_stated():
    rng = np.random.default_rng(1)
    share, n = 1e-3, 20_000

    met = [shown(k, n, share) for k in rng.binomial(n, 1.001 * share, 4_000)]
    not_met = [shown(k, n, share) for k in rng.binomial(n, 0.999 * share, 4_000)]

    assert met.count(Verdict.MET) <= 0.06 * 4_000
    assert not_met.count(Verdict.NOT_MET) <= 0.06 * 4_000
    assert shown(int(2 * share * n), n, share) is Verdict.NOT_MET
    assert shown(int(0.5 * share * n), n, share) is Verdict.MET


def test_luck_that_would_fail_one_of_many_requirements_fails_none():
    assert chance(26, 19_000, 1e-3) == pytest.approx(0.0731, abs=1e-4)
    assert chance(0, 19_000, 1e-3) == 1.0
    assert may_be_luck([0.01, None, 0.9]) == [False, False, True]
    assert may_be_luck([0.01, None, *[0.9] * 9]) == [True, False, *[True] * 9]


@pytest.mark.parametrize(("n_failed", "n"), [(0, 10_000), (1, 200_000), (3, 400_000)])
def test_so_much_longer_would_show_it(n_failed, n):
    times = times_as_long(n_failed, n, 1e-5)

    assert times is not None
    assert shown(n_failed * times, int(n * times * 1.001), 1e-5) is Verdict.MET
    assert shown(n_failed * times / 1.05, int(n * times / 1.05), 1e-5) is Verdict.NOT_SHOWN


def test_no_length_shows_what_is_not_so():
    assert times_as_long(30, 10_000, 1e-3) is None
