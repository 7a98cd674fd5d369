"""Peaks over threshold: right where its conditions hold, silent where they do not."""

import numpy as np
import pytest
from scipy.stats import genpareto

from taut.analysis.extrapolation import Episodes, episodes_of, extrapolate

HOUR_NS = 3_600_000_000_000


def episodes(n: int = 400, shape: float = 0.1, seed: int = 1) -> Episodes:
    rng = np.random.default_rng(seed)
    at = np.sort(rng.uniform(0, HOUR_NS, n))
    return Episodes(at, 50_000 + genpareto.rvs(shape, scale=20_000, size=n, random_state=rng))


def refused(found: Episodes, wanted_ns: int = 10 * HOUR_NS) -> str:
    answer = extrapolate(found, HOUR_NS, [wanted_ns], 1, 39)
    assert answer.levels_ns == {}
    assert answer.refused is not None
    return answer.refused


def test_what_is_expected_of_a_known_distribution_lies_in_the_interval_nearly_always() -> None:
    n, inside, said = 400, 0, 0
    expected = 50_000 + genpareto.isf(1 / (10 * n), 0.1, scale=20_000)
    for seed in range(6):
        answer = extrapolate(episodes(n, seed=seed), HOUR_NS, [10 * HOUR_NS], seed, 39)
        if answer.refused is not None:
            continue
        said += 1
        most, low, high = answer.levels_ns["10 h"]
        assert low <= most <= high
        inside += low <= expected <= high

    # Tests at 5 % and 1 % refuse a few that are good.
    assert said >= 4
    assert inside >= said - 1


def test_a_long_time_is_written_in_full() -> None:
    found = episodes()

    answer = extrapolate(found, 120 * HOUR_NS, [1_200 * HOUR_NS], 1, 39)

    assert list(answer.levels_ns) == ["1,200 h"]


def test_few_episodes_say_nothing() -> None:
    assert refused(episodes(49)) == "49 episodes; 50 are needed"
    assert refused(episodes(80)) == "40 episodes above a threshold; 50 are needed"


def test_ten_times_the_observed_time_is_the_most() -> None:
    assert "more than 10 times" in refused(episodes(), 11 * HOUR_NS)


def test_episodes_that_grow_or_come_more_often_say_nothing() -> None:
    still = episodes()
    grow = Episodes(still.at_ns, still.max_ns * (1 + 3 * still.at_ns / HOUR_NS))
    often = Episodes(np.sqrt(still.at_ns / HOUR_NS) * HOUR_NS, still.max_ns)

    assert "how large they are changes" in refused(grow)
    assert "how many there are changes" in refused(often)


def test_a_full_ring_is_no_tail() -> None:
    found = episodes()

    assert "as where a ring is full" in refused(
        Episodes(found.at_ns, np.minimum(found.max_ns, np.quantile(found.max_ns, 0.97)))
    )


def test_two_kinds_of_episodes_are_no_tail() -> None:
    rng = np.random.default_rng(3)
    at = np.sort(rng.uniform(0, HOUR_NS, 600))
    two = np.where(
        rng.uniform(size=600) < 0.75, rng.normal(6e4, 2e3, 600), rng.normal(9e6, 3e5, 600)
    )

    assert "kind" in refused(Episodes(at, two)) or "knee" in refused(Episodes(at, two))


@pytest.mark.parametrize(
    ("received", "maxima"), [([], []), ([5, 1_000, 50_000_000, 50_000_001], [7, 9])]
)
def test_packets_of_one_episode_are_one_witness(received: list[int], maxima: list[int]) -> None:
    latency = np.array([3, 7, 9, 1][: len(received)], np.int64)

    found = episodes_of(np.array(received, np.int64), latency)

    assert found.max_ns.tolist() == maxima
