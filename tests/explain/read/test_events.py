"""The kernel's events of a trial as arrays."""

import numpy as np

from taut.explain.read.events import high, low


def test_halves_of_an_argument_are_numbers_of_their_own():
    deadline = 0xFFFF_FFFF << 32 | 0x8000_0001
    arguments = np.array([deadline, 120 << 32 | 7], np.uint64)

    lower, upper = low(arguments), high(arguments)

    assert (lower.tolist(), lower.dtype) == ([0x8000_0001, 7], np.int64)
    assert (upper.tolist(), upper.dtype) == ([0xFFFF_FFFF, 120], np.int64)
