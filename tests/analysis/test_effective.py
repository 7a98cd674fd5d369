"""Packets that are late together are few witnesses."""

import numpy as np
import pytest

from taut.analysis.effective import LEAST_ABOVE, BlockCounts, failure_bound, supports

SHARE = 0.01
LATE, ON_TIME = 90, 10


def support_of(late_per_block, packets_per_block=1000):
    late = np.asarray(late_per_block)
    blocks = np.arange(len(late))
    counts = BlockCounts(
        np.concatenate([blocks, blocks]),
        np.repeat([LATE, ON_TIME], len(late)),
        np.concatenate([late, packets_per_block - late]),
    )
    return supports(counts, {"p99": LATE}, {"p99": SHARE})["p99"]


def test_independent_packets_are_worth_themselves():
    rng = np.random.default_rng(1)

    found = support_of(rng.binomial(1000, SHARE, 60))

    assert found.is_enough
    assert 30_000 < found.n_eff <= 60_000
    assert (found.n_blocks, found.n_blocks_above) == (60, 60)


@pytest.mark.parametrize("clump", [20, 100])
def test_clumps_are_worth_one_packet_each(clump):
    rng = np.random.default_rng(2)

    found = support_of(clump * rng.poisson(2, 64), packets_per_block=200 * clump)

    assert found.n_eff == pytest.approx(64 * 200, rel=0.5)
    assert found.n_eff_above == pytest.approx(SHARE * found.n_eff, rel=0.1)


def test_two_blocks_alike_are_less_than_two_witnesses():
    rng = np.random.default_rng(3)
    stretches = 10 * rng.poisson(2, 30)

    together = support_of(np.repeat(stretches, 2), packets_per_block=2000)
    apart = support_of(rng.permutation(np.repeat(stretches, 2)), packets_per_block=2000)

    # Every second pair of neighbours is one stretch, whose covariance is its variance.
    assert together.n_eff == pytest.approx(apart.n_eff / 1.5, rel=0.15)


def test_blocks_that_take_turns_are_worth_no_more_than_shuffled_ones():
    turns = [0, 40] * 30

    found = support_of(turns, packets_per_block=2000)
    shuffled = support_of(np.random.default_rng(4).permutation(turns), packets_per_block=2000)

    assert found.n_eff == pytest.approx(shuffled.n_eff, rel=0.3)


def test_late_packets_that_keep_a_distance_are_never_worth_more_than_themselves():
    assert support_of([10] * 50).n_eff == 50 * 1000


def test_blocks_without_a_late_packet_tell_too_little():
    few = support_of([50] * (LEAST_ABOVE - 1) + [0] * 40)

    assert few.n_blocks_above == LEAST_ABOVE - 1
    assert not few.is_enough


def test_many_small_stalls_beside_a_huge_one_tell_too_little():
    found = support_of([1] * 39 + [900])

    assert found.n_blocks_above == 40
    assert not found.is_enough


def test_the_slowest_packet_of_a_stall_is_not_worth_more_than_the_stall():
    block, n = np.arange(40), np.full(40, 1000)
    late = [np.full(100, 7), 1_000 + np.arange(100), np.ones(100, np.int64)]
    columns = (np.append(of, more) for of, more in zip((block, np.ones(40), n), late, strict=True))
    counts = BlockCounts(*(column.astype(np.int64) for column in columns))

    found = supports(counts, {"p99.9": 1_060, "p99.999": 1_099}, {"p99.9": 1e-3, "p99.999": 1e-5})

    assert found["p99.999"].n_eff <= found["p99.9"].n_eff < 1_000
    assert found["p99.999"].interval_ranks[1] is None


def test_a_single_block_says_nothing_and_fails_nothing():
    assert not support_of([10]).is_enough
    assert support_of([1000]).n_eff == 1


def test_packets_that_all_took_as_long_leave_no_doubt():
    blocks = np.arange(30)
    counts = BlockCounts(blocks, np.full(30, 100), np.full(30, 1000))

    found = supports(counts, {"p50": 100, "p99": 100}, {"p50": 0.5, "p99": 0.01})

    assert found["p50"].interval_ranks == found["p99"].interval_ranks == (1, 30_000)
    assert found["p99"].is_enough


def test_blocks_of_unequal_size_are_judged_by_their_share():
    sizes = np.array([100, 900] * 20)

    even = support_of(sizes // 50, sizes)

    assert even.n_eff == sizes.sum()


@pytest.mark.parametrize(
    ("failures", "n_eff"), [(0, 299_573), (1, 474_386), (2, 629_579), (5, 1_051_303)]
)
def test_failures_among_independent_packets_bound_their_share(failures, n_eff):
    assert failure_bound(failures / n_eff, n_eff) == pytest.approx(1e-5, rel=1e-5)


def test_where_all_failed_all_may():
    assert failure_bound(1.0, 50) == 1.0
