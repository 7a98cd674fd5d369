"""Trials taken in turn, and anew where the generator was held up: those are nobody's result."""

from collections.abc import Callable
from dataclasses import dataclass

from taut.experiment.bisection import Counted
from taut.experiment.capacity import count
from taut.experiment.kept import Kept, Trials
from taut.experiment.model import DeviceSpec, TrafficSpec


@dataclass(frozen=True)
class Taken:
    """Attempts at one trial, the last of which counts, if any does."""

    attempts: tuple[tuple[Kept, Counted], ...]
    is_sound: bool
    """Whether the last one counts."""

    @property
    def names(self) -> tuple[str, ...]:
        """Folders of all of them."""
        return tuple(kept.folder.name for kept, _ in self.attempts)

    @property
    def counted(self) -> Counted:
        """The one that counts, else the median by its loss; of two in the middle the worse."""
        if self.is_sound:
            return self.attempts[-1][1]
        by_loss = sorted((one for _, one in self.attempts), key=lambda one: one.loss_ratio)
        return by_loss[len(by_loss) // 2]


def is_sound(counted: Counted) -> bool:
    """Whether the generator was on time."""
    return not counted.is_limited


def loses_soundly(counted: Counted) -> bool:
    """Whether the generator was on time, and what was lost was not lost by it alone."""
    return not counted.is_limited_at(0.0)


def is_on_time(counted: Counted) -> bool:
    """Whether it was, and sent as fast as it should have."""
    return loses_soundly(counted) and not counted.is_behind


class InTurn:
    """The trials of a run, each asked for once."""

    def __init__(self, trials: Trials, repeats: int) -> None:
        self._trials = trials
        self._repeats = repeats
        self._n_taken: dict[object, int] = {}
        self._given_up: set[object] = set()

    def take(
        self,
        device: DeviceSpec,
        load: TrafficSpec,
        will_do: Callable[[Counted], bool] = is_sound,
        *,
        is_once: bool = False,
    ) -> Taken:
        """Take the next trial of a load. TrialError: no attempt at it was whole.

        Where no repetition would do, trials of this load are repeated no more; nor if `is_once`.
        """
        at = (device.name, load.name, load.frames, load.rates, load.duration_ns, load.count)
        attempts: list[tuple[Kept, Counted]] = []
        for _ in range(1 if is_once or at in self._given_up else 1 + self._repeats):
            nth = self._n_taken.get(at, 0)
            kept = self._trials.take(device, load, nth)
            self._n_taken[at] = nth + 1
            attempts.append((kept, count(kept, None)))
            if will_do(attempts[-1][1]):
                return Taken(tuple(attempts), is_sound=True)
        self._given_up.add(at)
        return Taken(tuple(attempts), is_sound=False)
