"""Operations on arrays that several files need."""

import numpy as np
import pytest

from taut.explain.arrays import at_or

NOWHERE = np.array([-1, 1, -1])


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int32, np.int64])
def test_a_value_is_looked_up_where_there_is_one_and_keeps_its_type(dtype):
    values = np.array([0, 1], dtype)

    found, none = at_or(values, NOWHERE, False), at_or(values[:0], NOWHERE, True)

    assert (found.tolist(), found.dtype) == ([False, True, False], dtype)
    assert (none.tolist(), none.dtype) == ([True] * 3, dtype)


def test_what_stands_in_may_be_another_value_at_each_position():
    otherwise = np.array([7, 8, 9])

    assert at_or(np.array([4, 5]), NOWHERE, otherwise).tolist() == [7, 5, 9]
    assert at_or(np.array([], np.int64), NOWHERE, otherwise).tolist() == [7, 8, 9]
