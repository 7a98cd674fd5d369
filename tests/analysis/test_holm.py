"""Several gates: how often one of them fails by luck alone."""

import numpy as np
import pytest

from taut.analysis.holm import ERROR, holm


def test_holm_s_method_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.04]) == [0.04]
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_luck_fails_any_of_many_gates_no_more_often_than_one() -> None:
    random = np.random.default_rng(1)

    failed = [min(holm(random.random(20).tolist())) <= ERROR for _ in range(2000)]

    # Three standard deviations of what 2000 tables may show.
    assert np.mean(failed) <= ERROR + 3 * np.sqrt(ERROR * (1 - ERROR) / 2000)
