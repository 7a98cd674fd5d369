"""The ranks of a percentile's interval are those scipy.stats gives."""

import numpy as np
import pytest
from scipy.stats import binom

from taut.analysis.statistics import _SPECIAL_MOST, _binomial_quantile
from taut.core.percentiles import PERCENTILES

SIZES = (1, 2, 10, 39, 1_000, 123_456, _SPECIAL_MOST, _SPECIAL_MOST + 1, 654_261_534)


@pytest.mark.parametrize("n", SIZES)
def test_a_binomial_quantile_is_that_of_scipy(n: int) -> None:
    shares = [over / under for over, under in PERCENTILES.values()]

    for quantile in (0.025, 0.975):
        found = [_binomial_quantile(quantile, n, share) for share in shares]
        assert found == np.array(binom.ppf(quantile, n, shares)).astype(int).tolist()
