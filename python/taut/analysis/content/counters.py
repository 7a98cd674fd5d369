"""Recognise columns that count: they tell the time, and time is not content.

Two kinds. A *counter* steps by the same amount from packet to packet, or from one packet to the
one a few places on where several senders count in turn. A *slow counter* is the high byte of one:
it rests, but when it changes it steps by the same amount. A value that breaks the sequence, and
after which it goes on, is content again; only those values of a counter are searched.
"""

from dataclasses import dataclass

import numpy as np

from taut.analysis.content.layers import Mask, Values

_SHARE = 0.9  # of the steps that must be equal
_MAX_LAG = 64  # senders that count in turn
_SAMPLE = 2048
_MIN_CHANGES = 3


@dataclass(frozen=True)
class Counter:
    """The step from each packet to the one `lag` later; a slow counter also rests."""

    lag: int
    step: int
    is_slow: bool

    def __str__(self) -> str:
        if self.is_slow:
            return f"a slow counter: where it changes it steps by {self.step}"
        every = "packet" if self.lag == 1 else f"{self.lag} packets"
        return f"a counter: steps by {self.step} every {every}"


def find_counter(values: Values) -> Counter | None:
    """Say how a column counts; None if it does not."""
    if len(values) < 2 * _MAX_LAG:
        return None
    first = values[:_SAMPLE]
    for lag in range(1, _MAX_LAG + 1):
        if _common_step(first[lag:] - first[:-lag]):
            step = _common_step(values[lag:] - values[:-lag])
            if step:
                return Counter(lag, step, False)
    return _slow_counter(values)


def _slow_counter(values: Values) -> Counter | None:
    steps = values[1:] - values[:-1]
    changes = np.flatnonzero(steps)
    # Between two values the way there and the way back may be the same step modulo the width.
    if len(changes) < _MIN_CHANGES or len(np.unique(values[changes])) < 3:
        return None
    step = _common_step(steps[changes])
    return Counter(1, step, True) if step else None


def _common_step(steps: Values) -> int | None:
    """The step, not 0, that nearly all of them are; three tries find it if it exists."""
    for at in (len(steps) // 4, len(steps) // 2, 3 * len(steps) // 4):
        step = int(steps[at])
        if step and np.count_nonzero(steps == steps[at]) > _SHARE * len(steps):
            return step
    return None


def breaks_sequence(values: Values, counter: Counter) -> Mask:
    """Mark the packets that neither continue the count nor are continued by it."""
    steps = values[counter.lag :] - values[: -counter.lag]
    is_regular = steps == counter.step
    if counter.is_slow:
        is_regular |= steps == 0
    is_odd = np.ones(len(values), bool)
    is_odd[counter.lag :] &= ~is_regular
    is_odd[: -counter.lag] &= ~is_regular
    return is_odd
