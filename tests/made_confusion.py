"""What became of acts of one kind, as the self-test has it."""

from typing import Any

from taut.self_test.confusion import Confusion

_COUNTS = {
    "n_acts": 110,
    "n_unfelt": 10,
    "n_right": 97,
    "beside": {"preemption": 2},
    "why_missed": {"the gap held no event at all": 1},
    "misses": (),
    "n_said": 120,
    "n_at_act": 100,
    "n_injectors": 0,
    "n_others": 18,
    "n_unexplained": 2,
    "others": {"tick_nohz_handler": 18},
    "seconds": 2.0,
}
"""97 of 100 felt are right, 99 found; 118 of 120 verdicts have somebody."""


def made_confusion(cause: str, **changes: Any) -> Confusion:
    """Give one in which every figure is another."""
    return Confusion(cause=cause, **{**_COUNTS, **changes})
