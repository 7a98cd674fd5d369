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
_BETTER = 0.01  # so much more of them at a greater distance make that the counter's
_SURE = 0.99  # with such a share no other distance is tried
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
    best_lag, best_share = 0, 0.0
    for lag in range(1, _MAX_LAG + 1):
        # Ten senders at equal distances also step equally nine times in ten from one to the next.
        _, share = _common_step(first[lag:] - first[:-lag])
        if share > best_share + _BETTER:
            best_lag, best_share = lag, share
        if share > _SURE:
            break
    if best_lag:
        step, share = _common_step(values[best_lag:] - values[:-best_lag])
        if share:
            return Counter(best_lag, step, False)
    return _slow_counter(values)


def _slow_counter(values: Values) -> Counter | None:
    steps = values[1:] - values[:-1]
    changes = np.flatnonzero(steps)
    # Between two values the way there and the way back may be the same step modulo the width.
    if len(changes) < _MIN_CHANGES or len(np.unique(values[changes])) < 3:
        return None
    step, share = _common_step(steps[changes])
    return Counter(1, step, True) if share else None


def _common_step(steps: Values) -> tuple[int, float]:
    """The step, not 0, that nearly all of them are, and their share; three tries find it.

    Both are 0 if there is none.
    """
    # No halves and quarters: a carry from byte to byte comes at powers of two.
    for at in (len(steps) // 3, 2 * len(steps) // 5, 5 * len(steps) // 7):
        step = int(steps[at])
        share = np.count_nonzero(steps == steps[at]) / len(steps)
        if step and share > _SHARE:
            return step, share
    return 0, 0.0


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
