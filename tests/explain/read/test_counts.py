import numpy as np

from taut.explain.read.counts import Counts


def test_a_rank_is_of_all_that_was_added():
    values = np.random.default_rng(1).integers(0, 50, 1_000)
    counts, other = Counts(), Counts()
    for part in np.split(values[:600], 6):
        counts.add(part)
    other.add(values[600:])
    counts.add_all(other)

    assert len(counts) == 1_000
    assert [counts.at(rank) for rank in range(1, 1_001)] == np.sort(values).tolist()
