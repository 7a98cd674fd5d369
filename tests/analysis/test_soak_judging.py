"""Of soaks that just fail a requirement, 5 % pass at most, however long the device is slow."""

import numpy as np
import pytest
from scipy.stats import binom

from taut.analysis.proof import Verdict, shown
from taut.analysis.soak_judging import times_as_many

MAY_FAIL = 1e-3
SOAKS = 300
SEED = 5


def passed(n_rows: int, alike: int, times: float = 1.0) -> int:
    """Count the soaks that pass; `alike`: in so many rows in turn packets fail equally often.

    `times`: how many times more packets fail than may.
    """
    rng = np.random.default_rng(SEED)
    of = np.full(n_rows, 30_000_000 // n_rows)
    n = 0
    for _ in range(SOAKS):
        shares = rng.exponential(times * MAY_FAIL, size=-(-n_rows // alike))
        failed = rng.poisson(np.repeat(shares, alike)[:n_rows] * of)
        together = times_as_many(failed, of)
        n_eff = int(of.sum() / together)
        n += shown(failed.sum() / together, n_eff, MAY_FAIL) is Verdict.MET
    return n


@pytest.mark.parametrize(
    ("n_rows", "alike"),
    [(288, 1), (288, 4), (288, 12), (3_600, 60), (24, 1)],
    ids=["independent", "slow_20_min", "slow_hours", "rows_of_1_s_slow_minutes", "few_rows"],
)
def test_at_most_one_in_twenty_that_just_fail_pass(n_rows: int, alike: int) -> None:
    assert passed(n_rows, alike) <= binom.ppf(0.999, SOAKS, 0.05)


def test_a_device_half_as_slow_as_it_may_be_mostly_passes() -> None:
    assert passed(288, 1, times=0.5) >= 0.95 * SOAKS
    assert passed(288, 12, times=0.4) >= 0.5 * SOAKS
