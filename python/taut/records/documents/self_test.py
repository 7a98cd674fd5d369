"""What `taut explain --self-test --json` prints: disturbances made on purpose, and what was said.

Shares are None where there is nothing to take them of.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

SELF_TEST_FORMAT = 3


@dataclass(frozen=True)
class Miss:
    """One act that explain did not find."""

    at_ns: int
    act_ns: int
    gap_ns: int
    why: str
    verdict: str
    shares: Mapping[str, int]
    """Of the gap's time, in ns."""


@dataclass(frozen=True)
class ConfusionDocument:
    """One cause, made on purpose: what became of the acts, and where the verdicts came from."""

    cause: str
    seconds: float
    acts: int
    off_core: int
    unfelt: int
    felt: int
    right: int
    beside: Mapping[str, int]
    missed: int
    recall: float | None
    found: float | None
    why_missed: Mapping[str, int]
    misses: tuple[Miss, ...]
    said: int
    at_an_act: int
    injectors_own: int
    anothers: int
    anothers_who: Mapping[str, int]
    unexplained: int
    precision: float | None
    precision_raw: float | None
    control: float | None
    """Verdicts of the control in the same time; None: there was none."""
    precision_less_control: float | None
    sender_named: int
    sender_right: int
    sender: float | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ControlOfCauses:
    """Nothing was made: what the machine does by itself."""

    seconds: float = 0
    verdicts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ControlOfPath:
    """The same on a packet path, in late packets."""

    tail: int
    said: int
    false: Mapping[str, int]
    false_share: float


@dataclass(frozen=True)
class PathDocument:
    """One packet path and every act on it."""

    path: str
    late_ns: int
    control: ControlOfPath
    acts: tuple[ConfusionDocument, ...]
    not_made: Mapping[str, str]
    """Acts that failed, and why."""


@dataclass(frozen=True)
class SelfTestDocument:
    """Causes and paths; what was not asked for is empty."""

    core: int
    kernel: str
    load_average: tuple[float, float]
    """Over one minute: before the first part, and after the last."""
    least_ns: int
    """Shorter gaps do not count."""
    control: ControlOfCauses
    causes: tuple[ConfusionDocument, ...]
    not_proved: Mapping[str, str]
    paths: tuple[PathDocument, ...]
    paths_skipped: Mapping[str, str]
    format: int = SELF_TEST_FORMAT
