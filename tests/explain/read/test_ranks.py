"""Latencies by rank out of a table of bounded size: the same as of all of them in order."""

import numpy as np
import pytest

from taut.explain.read.ranks import MOST_NS, LatencyTable

OWN_PLACE = 1 << 17


def table_of(*parts):
    table = LatencyTable()
    for part in parts:
        table.add(part)
    return table


def not_again():
    pytest.fail("read again, though every rank has a place of its own")


@pytest.mark.parametrize("most", [50, OWN_PLACE, 1 << 22, MOST_NS])
def test_a_rank_is_the_latency_at_its_place_among_all_in_order(most):
    rng = np.random.default_rng(most)
    parts = [np.exp(rng.uniform(0, np.log(most), n)).astype(np.int64) for n in (1, 1_000, 7_000)]
    every = np.sort(np.concatenate(parts))
    ranks = [1, 80, 4_000, 7_990, len(every)]

    assert table_of(*parts).at(ranks, lambda: iter(parts)) == [int(every[r - 1]) for r in ranks]


def test_latencies_of_one_place_are_told_apart_and_equal_ones_counted():
    close = 3_590_000 + np.array([0, 1, 1, 5, 6, 6, 6, 7])
    parts = [np.array([10, 20]), close[::2], close[1::2], np.array([9_000_000])]

    found = table_of(*parts).at(range(1, 12), lambda: iter(parts))

    assert found == [10, 20, *close.tolist(), 9_000_000]


def test_what_is_below_131_microseconds_is_not_read_twice():
    table = table_of(np.array([0, 7, OWN_PLACE - 1, OWN_PLACE, 10**9]))

    assert table.at([1, 2, 3], not_again) == [0, 7, OWN_PLACE - 1]


def test_a_latency_below_zero_counts_as_zero_and_one_of_hours_as_the_longest():
    parts = [np.array([-(10**12), 5, 10**13])]

    assert table_of(*parts).at([1, 2, 3], lambda: iter(parts)) == [0, 5, MOST_NS]
