"""All looks together claim an effect of nothing at most ALPHA of the time."""

import numpy as np
import pytest

from taut.analysis.paired import least_pairs, paired_ratio
from taut.trim.looks import ALPHA, LEAST_PAIRS, LOOKS, last_look


def test_the_looks_spend_the_error_and_no_more():
    assert sum(look.alpha for look in LOOKS) == pytest.approx(ALPHA)
    assert [look.n_pairs for look in LOOKS] == sorted(look.n_pairs for look in LOOKS)


def test_every_look_can_show_something():
    assert all(least_pairs(1 - look.alpha) <= look.n_pairs for look in LOOKS)


@pytest.mark.parametrize("n_pairs", range(20))
def test_a_budget_that_ends_anywhere_spends_no_more(n_pairs: int):
    final = last_look(n_pairs)

    if n_pairs < LEAST_PAIRS:
        assert final is None
    else:
        assert final is not None
        passed = sum(look.alpha for look in LOOKS if look.n_pairs < n_pairs)
        assert passed + final.alpha <= ALPHA + 1e-12


def test_looking_three_times_at_nothing_claims_no_more_than_alpha():
    rng = np.random.default_rng(7)
    sets = 3000
    log_ratios = rng.standard_t(2, (sets, LOOKS[-1].n_pairs))

    claimed = sum(
        any(paired_ratio(list(of[: look.n_pairs]), 1 - look.alpha).is_shown for look in LOOKS)
        for of in log_ratios
    )

    assert claimed <= sets * ALPHA + 4 * (sets * ALPHA * (1 - ALPHA)) ** 0.5
