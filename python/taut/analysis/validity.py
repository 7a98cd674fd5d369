"""Why nothing may be concluded of a device under a load: what failed, did not come back or out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from taut.analysis.load import share_words
from taut.analysis.pooling import asked_of
from taut.records.documents.load import Device, Load
from taut.records.documents.results import TrialResult, Variant

FailedTrials = Mapping[tuple[object, ...], Sequence[TrialResult]]
"""Trials without numbers, by what they were to measure."""


@dataclass(frozen=True)
class Unmeasured:
    """A device under a load of which every trial failed, so that it has no variant."""

    device: Device
    load: Load
    trials: tuple[str, ...]

    @property
    def is_floor(self) -> bool:
        """Whether it is the path with no device in it."""
        return self.device.is_floor

    @property
    def achieved_pps(self) -> float:
        """No rate: nobody counted what was sent."""
        return 0.0

    @property
    def called(self) -> str:
        """The device's name; the floor has none."""
        return "floor" if self.is_floor else str(self.device.dut)


Row: TypeAlias = Variant | Unmeasured


def failed_trials(trials: Iterable[TrialResult]) -> FailedTrials:
    """Give the trials that left no numbers."""
    found: dict[tuple[object, ...], list[TrialResult]] = {}
    for trial in trials:
        if trial.figures is None:
            found.setdefault(asked_of(trial), []).append(trial)
    return found


def unmeasured(rows: Iterable[Variant], failed: FailedTrials) -> list[Unmeasured]:
    """Give what failed as a whole, and has none of the rows."""
    measured = {asked_of(row) for row in rows}
    return [
        Unmeasured(own[0].device, own[0].load, tuple(trial.name for trial in own))
        for asked, own in failed.items()
        if asked not in measured
    ]


def failed_words(n_failed: int, n: int) -> str:
    """Say how many of the repetitions failed."""
    return f"{n_failed} of {n} trials failed"


def why_no_latency(row: Row) -> str:
    """Say why a row has no latency; empty: it has."""
    if isinstance(row, Unmeasured):
        return failed_words(len(row.trials), len(row.trials))
    return "" if row.latency.n else f"no packet came back{after_warm_up(row)}"


def after_warm_up(row: Variant) -> str:
    """Add to words of a row without a latency that the device worked, as far as is known."""
    return "" if row.warm_up.matched == 0 else " after the warm-up"


def why_invalid(row: Variant, n_failed: int, *, without_void: bool) -> str:
    """Say why nothing may be concluded of a variant; empty: something may."""
    if n_failed:
        return failed_words(n_failed, n_failed + len(row.trials))
    if not row.sums_reconcile:
        return "the sums of its packets do not come out"
    if row.instrument_limited and not without_void:
        return (
            "the generator itself was late in a repetition with over 1 % of the packets, "
            f"{share_words(row.void_share)} in all: give it a core of its own, or judge without "
            "them (--without-void)"
        )
    return ""
