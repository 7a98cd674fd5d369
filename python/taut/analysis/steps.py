"""Steps in a series of runs: where the level changed, and whether a later run bears it out.

The values are logarithms of the medians of single runs, so a step is a ratio. Of every place
between two runs the statistic is the difference of the means before and after it, weighted as a
cumulative sum weights it, with values far from the rest pulled in, unless a neighbour is as far:
one spike is no step, two runs in a row may be one. How large the greatest of them is by luck alone
is learnt from the series itself, in other orders, twice: from what is left around the two levels,
where neighbours that resemble each other (a machine that drifts) make luck do more; and from the
values as they are, which few runs cannot deceive. What is found splits the series, and both parts
are searched again.

Permutation tests for change points: Antoch and Hušková, Statistics & Probability Letters 53 (2001).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import sqrt
from statistics import median

import numpy as np
import numpy.typing as npt

LEAST_RUNS = 5
"""Fewer runs are not searched for steps."""

_ORDERS = 999
_BY_LUCK = 0.002
"""The share of other orders of what is left that may have a contrast as large."""
_AS_CLEAR = 0.01
"""The share of other orders of the values themselves that may have a step as clear."""
_SEED = 20
_FAR = 3.0
"""How many standard deviations from the median a value without a like neighbour counts at most."""
_SD_OF_MAD = 1.4826
_MOST_CORRELATION = 0.5

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Step:
    """A change of level: the first run of the new one, by its place in the series."""

    at: int
    before: float
    """The median of the runs since the step before, or since the first run."""
    after: float
    """The median of the runs up to the next step."""
    is_confirmed: bool
    """Whether it is found without the newest run, too; else it is suspected: run again."""


def find_steps(values: Sequence[float]) -> list[Step]:
    """Find all steps of a series, in its order; none in fewer than LEAST_RUNS values."""
    places = _places(values)
    if not places:
        return []
    # The newest run must not have been needed: it is the one that confirms.
    earlier = _places(values[:-1])
    ends = [0, *places, len(values)]
    levels = [median(values[a:b]) for a, b in pairwise(ends)]
    return [
        Step(at, before, after, any(abs(at - seen) <= 1 for seen in earlier))
        for at, before, after in zip(places, levels, levels[1:], strict=False)
    ]


def spread(values: Sequence[float], steps: Sequence[Step]) -> float:
    """Give the standard deviation around the levels, by the median deviation: spikes do not count.

    ValueError: no values.
    """
    ends = [0, *(step.at for step in steps), len(values)]
    parts = [values[a:b] for a, b in pairwise(ends)]
    return _SD_OF_MAD * median(abs(x - median(part)) for part in parts for x in part)


def _places(values: Sequence[float]) -> list[int]:
    at = _place(np.asarray(values, dtype=np.float64))
    if at is None:
        return []
    return [*_places(values[:at]), at, *(at + inner for inner in _places(values[at:]))]


def _place(values: Floats) -> int | None:
    """Give the place of the clearest step; None: luck would make one as clear."""
    if len(values) < LEAST_RUNS or np.ptp(values) == 0:
        return None
    pulled = _pulled_in(values)
    found = _contrasts(pulled)
    at = int(np.argmax(found)) + 1
    sides = [pulled[:at], pulled[at:]]
    # Another step of a side is no luck: each side is split once more before its rest is taken.
    rests = np.concatenate([_rest(part) for side in sides for part in _split(side)])
    luck = _worth(np.concatenate([_rest(side) for side in sides])) * _greatest_by_luck(rests)
    as_clear = _greatest_by_luck(pulled)
    is_step = (
        np.mean(luck >= found[at - 1]) <= _BY_LUCK
        and np.mean(as_clear >= found[at - 1]) <= _AS_CLEAR
    )
    return at if is_step else None


def _split(side: Floats) -> list[Floats]:
    """Split at the clearest place, whether it is a step or not; a short side stays whole."""
    if len(side) < 2 * LEAST_RUNS:
        return [side]
    at = int(np.argmax(_contrasts(side))) + 1
    return [side[:at], side[at:]]


def _rest(part: Floats) -> Floats:
    found: Floats = part - part.mean()
    return found


def _greatest_by_luck(values: Floats) -> Floats:
    """Give the greatest contrast of each of many other orders of a series."""
    found: Floats = _contrasts(values[_orders(len(values))]).max(axis=-1)
    # Two sums of the same numbers may differ by rounding.
    return found * (1 + 1e-9)


def _pulled_in(values: Floats) -> Floats:
    """Pull in what is far from the median of all and from that of its neighbours and itself.

    The ends have the median of three, too: a step is there as a whole once two runs have it.
    """
    middle = np.median(values)
    distances = np.abs(values - middle)
    # Where most values are equal, as of a coarse clock, the median distance is none.
    sd = _SD_OF_MAD * np.median(distances) or np.mean(distances)
    threes = np.median(np.lib.stride_tricks.sliding_window_view(values, 3), axis=1)
    near = np.pad(threes, 1, mode="edge")
    found: Floats = np.clip(
        values, np.minimum(middle, near) - _FAR * sd, np.maximum(middle, near) + _FAR * sd
    )
    return found


def _contrasts(values: Floats) -> Floats:
    """Give the weighted difference of the means at each place of a series, or of many (rows)."""
    n = values.shape[-1]
    before = np.arange(1, n)
    sums = np.cumsum(values - values.mean(axis=-1, keepdims=True), axis=-1)[..., :-1]
    found: Floats = np.abs(sums) / np.sqrt(before * (n - before) / n)
    return found


def _worth(rests: Floats) -> float:
    """Give by how much more than their spread says luck does, of rests around two means."""
    n = len(rests)
    power = float(rests @ rests)
    if power == 0:
        return 1.0
    r = min(max(float(rests[1:] @ rests[:-1]) / power, 0.0), _MOST_CORRELATION)
    return sqrt(n / (n - 2) * (1 + r) / (1 - r))


@cache
def _orders(n: int) -> npt.NDArray[np.int64]:
    """Give the orders in which a series of n is looked at for what luck does: always the same."""
    random = np.random.default_rng(_SEED)
    found: npt.NDArray[np.int64] = random.permuted(np.tile(np.arange(n), (_ORDERS, 1)), axis=1)
    return found
