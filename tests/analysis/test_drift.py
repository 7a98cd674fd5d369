"""Trends of a soak's rows where the test that is corrected for their likeness says nothing."""

import pytest

from taut.analysis.drift import LEAST_ROWS, SIGNIFICANCE, trend_of

PAGE_BYTES = 4_096
HOURS = [n / 12 for n in range(LEAST_ROWS)]


@pytest.mark.parametrize(("pages", "verdict"), [(1, "increasing"), (-3, "decreasing")])
def test_growth_by_the_same_in_every_row_is_a_trend(pages: int, verdict: str) -> None:
    found = trend_of("memory", HOURS, [50e6 + n * pages * PAGE_BYTES for n in range(LEAST_ROWS)])

    assert found.verdict == verdict
    assert found.p_value is not None
    assert found.p_value < SIGNIFICANCE
    assert found.per_hour == pytest.approx(12 * pages * PAGE_BYTES)


def test_a_single_step_at_the_end_is_none() -> None:
    found = trend_of("memory", HOURS, [50e6] * (LEAST_ROWS - 1) + [51e6])

    assert (found.verdict, found.per_hour) == ("none", 0.0)
    assert found.p_value is not None
