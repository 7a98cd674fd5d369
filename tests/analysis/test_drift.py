"""Trends of a soak's rows where the test that is corrected for their likeness says nothing."""

import numpy as np
import numpy.typing as npt
import pytest
from pymannkendall import original_test
from scipy.signal import lfilter
from scipy.stats import binom

from taut.analysis.drift import LEAST_ROWS, SIGNIFICANCE, trend_of

PAGE_BYTES = 4_096
HOURS = [n / 12 for n in range(LEAST_ROWS)]
SOAKS = 200
SETTLED = 200
N_DAYS = 40


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


INDEPENDENT = (
    "500 206 938 703 685 688 872 688 494 662 579 122 748 172 706 314 411 206 948 60 716 366 271 "
    "676 314"
)
"""By chance neighbours are unlike each other, which alone would make p smaller."""


def test_rows_that_alternate_are_no_trend() -> None:
    values = [float(value) for value in INDEPENDENT.split()]

    found = trend_of("p50", [n / 12 for n in range(len(values))], values)

    assert found.verdict == "none"
    assert found.p_value is not None
    assert found.p_value >= original_test(values).p


@pytest.mark.parametrize("n", [12, 25, 40])
def test_the_correction_only_makes_a_claim_harder(n: int) -> None:
    rng = np.random.default_rng(n)
    for values in rng.normal(size=(50, n)):
        p_value = trend_of("p50", [float(at) for at in range(n)], values.tolist()).p_value
        assert p_value is not None
        assert p_value >= original_test(values).p - 1e-12


def test_very_many_rows_are_taken_by_medians_of_neighbours() -> None:
    """Every two of a day of rows of a second are 60 GB."""
    rows = [float(at) for at in range(86_400)]

    found = trend_of("p50", [at / 3_600 for at in rows], rows)

    assert (found.n_rows, found.verdict) == (86_400, "increasing")
    assert found.per_hour == pytest.approx(3_600)


def like_the_one_before(persistence: float, n: int, seed: int) -> npt.NDArray[np.float64]:
    """Soaks of so many rows, an autoregression of variance 1 each, without a trend."""
    drawn = np.random.default_rng(seed).normal(size=(SOAKS, n + SETTLED))
    found = lfilter([np.sqrt(1 - persistence**2)], [1, -persistence], drawn)[:, SETTLED:]
    return np.asarray(found)


def n_shown(soaks: npt.NDArray[np.float64]) -> int:
    hours = [at / 12 for at in range(soaks.shape[1])]
    return sum(trend_of("p50", hours, rows.tolist()).verdict != "none" for rows in soaks)


@pytest.mark.parametrize(
    ("persistence", "n"),
    [(0.0, 288), (0.5, 288), (0.7, 288), (0.9, 288), (0.9, 25), (0.9, 48), (0.9, 1_440)],
)
def test_rows_like_the_one_before_are_a_trend_one_time_in_a_hundred(
    persistence: float, n: int
) -> None:
    soaks = like_the_one_before(persistence, n, seed=3)

    assert n_shown(soaks) <= binom.ppf(0.999, SOAKS, SIGNIFICANCE)


@pytest.mark.parametrize(("slow", "n"), [(0.2, 48), (0.5, 48), (0.8, 48), (0.8, 288)])
def test_slow_noise_beneath_independent_noise_is_no_trend(slow: float, n: int) -> None:
    """By the correlation of neighbours alone such rows would be far less alike than they are."""
    independent = np.random.default_rng(5).normal(size=(SOAKS, n))
    soaks = np.sqrt(slow) * like_the_one_before(0.9, n, seed=6) + np.sqrt(1 - slow) * independent

    assert n_shown(soaks) <= binom.ppf(0.999, SOAKS, SIGNIFICANCE)


@pytest.mark.parametrize("at", [0, 1 / 8, 1 / 4])
def test_a_cycle_of_a_day_is_no_trend(at: float) -> None:
    noise = like_the_one_before(0, 288, seed=7)[:N_DAYS]
    soaks = 3 * np.sin(2 * np.pi * (np.arange(288) / 288 + at)) + noise

    assert n_shown(soaks) <= N_DAYS // 20


ROW = np.arange(288)


@pytest.mark.parametrize(
    "growth_mb",
    [
        pytest.param(np.exp(ROW / 60), id="exponential by 120"),
        pytest.param((ROW / 50) ** 2, id="quadratic by 33"),
        pytest.param(10 * np.sqrt(ROW), id="square root by 170"),
        pytest.param(np.maximum(0, ROW - 144) * 0.1, id="from noon by 14"),
        pytest.param(np.maximum(0, ROW - 144), id="from noon by 140"),
        pytest.param(4 * (ROW // 72), id="three steps of 4"),
        pytest.param(20 / (1 + np.exp((144 - ROW) / 20)), id="around noon by 20"),
        pytest.param(ROW * 0.01, id="straight by 3"),
    ],
)
def test_a_leak_of_whatever_course_is_told(growth_mb: npt.NDArray[np.float64]) -> None:
    """Noise is 1 MB. A bend was taken for rows that are alike, which the more it was hid a leak."""
    soaks = 200 + growth_mb + like_the_one_before(0, 288, seed=8)[:N_DAYS]
    hours = (ROW / 12).tolist()
    shown = [trend_of("memory", hours, rows.tolist()).verdict for rows in soaks]

    assert shown.count("increasing") >= N_DAYS - 1


def test_a_leak_that_grows_ever_faster_is_told_without_noise() -> None:
    found = trend_of("memory", (ROW / 12).tolist(), (200e6 + 1e6 * np.exp(ROW / 60)).tolist())

    assert found.verdict == "increasing"


@pytest.mark.parametrize(("persistence", "grows_by"), [(0.0, 1.2), (0.5, 2.0), (0.9, 6.0)])
def test_a_day_that_grows_is_one_nearly_always(persistence: float, grows_by: float) -> None:
    soaks = like_the_one_before(persistence, 288, seed=4) + np.linspace(0, grows_by, 288)

    assert n_shown(soaks) >= 0.8 * SOAKS
