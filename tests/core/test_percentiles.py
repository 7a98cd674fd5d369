"""How many packets a percentile needs above it."""

import pytest

from taut.core.percentiles import PERCENTILES, SUPPORT, is_supported, percentile_rank


@pytest.mark.parametrize("name", PERCENTILES)
def test_a_percentile_is_supported_from_the_number_on_that_leaves_enough_above_it(
    name: str,
) -> None:
    over, under = PERCENTILES[name]
    least = SUPPORT * under // (under - over)

    assert is_supported(least, name)
    assert not is_supported(least - 1, name)
    assert least - percentile_rank(least, PERCENTILES[name]) == SUPPORT
    assert least - 1 - percentile_rank(least - 1, PERCENTILES[name]) < SUPPORT
    assert not is_supported(0, name)
