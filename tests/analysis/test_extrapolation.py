"""Maxima of blocks: right where their conditions hold, silent where they do not."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from taut.analysis.extrapolation import MOST_BLOCKS, extrapolate

MINUTE_NS = 60_000_000_000
HOUR_NS = 60 * MINUTE_NS
A_DAY = 288
"""Rows of five minutes."""
EVERY = 150
"""Stalls in a row: one in two seconds."""

Reals = npt.NDArray[np.float64]


def stall_of(exceeded: Reals | float, shape: float = 0.0) -> Reals:
    """Give the stall that is exceeded with a probability: 0.2 ms and, of shape 0, mean 1 ms."""
    over = -np.log(exceeded) if shape == 0 else (np.power(exceeded, -shape) - 1) / shape
    return np.asarray(1e6 * (0.2 + over))


def maxima(n: int = A_DAY, seed: int = 1, shape: float = 0.0) -> Reals:
    """The longest stall of each of so many rows."""
    drawn = np.random.default_rng(seed).uniform(size=(n, EVERY))
    found: Reals = stall_of(drawn, shape).max(axis=1)
    return found


def refused(rows: Reals) -> str:
    answer = extrapolate(rows.tolist(), HOUR_NS, 1, 199)
    assert answer.levels_ns == {}
    assert answer.refused is not None
    return answer.refused


@pytest.mark.parametrize("shape", [-0.2, 0.0, 0.2])
@pytest.mark.parametrize("n", [A_DAY, 60])
def test_what_is_reached_once_on_average_lies_in_the_interval_nearly_always(
    n: int, shape: float
) -> None:
    known = stall_of(1 / (10 * n * EVERY), shape)
    inside = said = 0
    for seed in range(10):
        rows = maxima(n, seed, shape)
        answer = extrapolate(rows.tolist(), 5 * MINUTE_NS, seed, 199)
        if answer.refused is not None:
            continue
        said += 1
        [(level, low, high)] = answer.levels_ns.values()
        assert low <= level <= high
        inside += low <= known <= high

    # Tests at 5 % and 1 % refuse a few that are good.
    assert said >= 8
    assert inside >= said - 1


def test_a_long_time_is_written_in_full() -> None:
    answer = extrapolate(maxima(120).tolist(), HOUR_NS, 1, 199)

    assert list(answer.levels_ns) == ["1,200 h"]


def test_few_rows_say_nothing() -> None:
    assert refused(maxima(49)) == "49 rows; 50 are needed"


def test_maxima_that_grow_say_nothing() -> None:
    assert "how large they are changes" in refused(maxima() * np.linspace(1, 3, A_DAY))


def test_a_full_ring_is_no_tail() -> None:
    rows = maxima()

    assert "as where a ring is full" in refused(np.minimum(rows, np.quantile(rows, 0.97)))


def mixed(share: float, other: Callable[[np.random.Generator], Reals]) -> Reals:
    """Rows of which a share has maxima of another kind."""
    rng = np.random.default_rng(3)
    return np.where(rng.uniform(size=A_DAY) < share, other(rng), rng.normal(6e4, 2e3, A_DAY))


def test_two_kinds_of_rows_are_no_tail() -> None:
    apart = mixed(0.25, lambda rng: rng.normal(9e6, 3e5, A_DAY))
    near = mixed(0.25, lambda rng: rng.normal(1.1e5, 1e4, A_DAY))

    assert "two bands: no row's maximum lies between" in refused(apart)
    assert "kind" in refused(near) or "knee" in refused(near)


def test_a_shape_that_changes_with_the_length_of_a_block_is_a_knee() -> None:
    half = mixed(0.5, lambda rng: 6e4 + rng.exponential(1e5, A_DAY))

    assert "it has a knee" in refused(half)


def test_a_day_of_rows_of_a_second_takes_no_more_memory_than_one_of_minutes() -> None:
    """36 kB a row were 3 GB at the end of such a soak, behind which nothing was written."""
    rows = stall_of(np.random.default_rng(1).uniform(size=86_400)).tolist()
    tracemalloc.start()
    answer = extrapolate(rows, MINUTE_NS / 60, 1)
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert most_bytes < 150e6
    assert answer.n_blocks <= MOST_BLOCKS
    [(level, low, high)] = answer.levels_ns.values()
    assert list(answer.levels_ns) == ["240 h"]
    assert low <= stall_of(1 / 864_000) <= high
    assert low <= level <= high
