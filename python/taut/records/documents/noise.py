"""What taut-noise prints, and what `taut host noise --json` makes of it."""

from collections.abc import Mapping
from dataclasses import dataclass

NOISE_FORMAT = 1


@dataclass(frozen=True)
class GapsOver:
    """Gaps over one threshold."""

    threshold_ns: int
    gaps: int


@dataclass(frozen=True)
class GapsOfCore:
    """All gaps of a core."""

    n: int
    total_ns: int
    not_logged: int


@dataclass(frozen=True)
class WorstGap:
    """The longest gap in ns, and when it began, in ns since the start."""

    ns: int
    at_ns: int


@dataclass(frozen=True)
class CorePolled:
    """One core, as taut-noise prints it."""

    core: int
    samples: int
    duration_ns: int
    period_ns: Mapping[str, int]
    over: tuple[GapsOver, ...]
    gaps: GapsOfCore
    worst: WorstGap


@dataclass(frozen=True)
class NoisePrinted:
    """All cores, as taut-noise prints them."""

    cores: tuple[CorePolled, ...]
    threshold_ns: int
    priority: int
    stop: str


@dataclass(frozen=True)
class NoiseOfCore:
    """One core, as taut prints it."""

    core: int
    runtime_ns: int
    samples: int
    gaps: int
    gaps_not_logged: int
    total_ns: int
    total_percent: float
    max_ns: int
    max_at_ns: int
    period_ns: Mapping[str, int]
    gaps_over_ns: Mapping[str, int]


@dataclass(frozen=True)
class NoiseDocument:
    """All cores, as taut prints them."""

    threshold_ns: int
    priority: int
    interrupted: bool
    cores: tuple[NoiseOfCore, ...]
    format: int = NOISE_FORMAT
