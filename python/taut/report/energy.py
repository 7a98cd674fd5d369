"""Energy of the processor's packages, in words."""

from collections.abc import Iterable
from statistics import median

from taut.records.documents.results import TrialResult
from taut.report.scene import Device

_OF = "of whole packages: generator, device and whatever else ran"


def energy_words(trials: Iterable[TrialResult]) -> str:
    """Say what the energy is of, or why it is not known; empty where no trial says anything."""
    reasons = dict.fromkeys(t.energy.unreadable for t in trials if t.energy is not None)
    return "; ".join(_OF if why is None else f"not readable here: {why}" for why in reasons)


def packages_w(device: Device) -> float | None:
    """Give the median of its repetitions' mean power; None: unknown of one of them."""
    powers = [trial.energy.packages_w if trial.energy else None for trial in device.trials]
    known = [power for power in powers if power is not None]
    return median(known) if known and len(known) == len(powers) else None
