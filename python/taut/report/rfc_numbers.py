"""Medians, percentiles and spreads over the repetitions of a recipe's trial."""

from collections.abc import Callable, Sequence
from statistics import median, stdev
from typing import Protocol, TypeVar

from taut.core.percentiles import percentile_rank
from taut.report.cells import NOTHING

_FIRST, _LAST = (1, 100), (99, 100)
"""The percentiles RFC 8219 wants of the repetitions."""


class Repetition(Protocol):
    """A trial that counts, or does not."""

    @property
    def instrument_limited(self) -> bool:
        """Whether the generator was held up: then it counts against no device."""
        ...


_Of = TypeVar("_Of", bound=Repetition)
_Any = TypeVar("_Any")


UNSURE = "?"
"""Marks what is of trials in which the generator was held up, where there are no others."""


def counted(trials: Sequence[_Of]) -> list[_Of]:
    """Leave out trials in which the generator was held up."""
    return [one for one in trials if not one.instrument_limited]


def shown(trials: Sequence[_Of]) -> tuple[list[_Of], str]:
    """Give the trials that count, else all of them and a mark for what they say."""
    good = counted(trials)
    return (good, "") if good else (list(trials), UNSURE if trials else "")


def marked(text: str, mark: str) -> str:
    """Put a mark behind a value, if there is one."""
    return text if text == NOTHING else text + mark


def median_of(trials: Sequence[_Any], of: Callable[[_Any], float | None]) -> float | None:
    """Give the median of a figure over trials; None: none has it."""
    found = _values(trials, of)
    return median(found) if found else None


def percentiles_of(
    trials: Sequence[_Any], of: Callable[[_Any], float | None]
) -> tuple[float | None, float | None]:
    """Give the 1st and the 99th percentile of a figure over trials."""
    found = sorted(_values(trials, of))
    if not found:
        return None, None
    low, high = (found[percentile_rank(len(found), at) - 1] for at in (_FIRST, _LAST))
    return low, high


def spread_of(values: Sequence[float]) -> float:
    """Give the standard deviation; 0 of one value."""
    return stdev(values) if len(values) > 1 else 0.0


def frame_len(frame: str) -> int | None:
    """Give the length of a frame; None of a mix."""
    return int(frame) if frame.isdigit() else None


def _values(trials: Sequence[_Any], of: Callable[[_Any], float | None]) -> list[float]:
    return [value for one in trials if (value := of(one)) is not None]
