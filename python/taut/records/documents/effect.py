"""effect.json: what `taut host effect --json` prints."""

from dataclasses import dataclass

EFFECT_FILE = "effect.json"
EFFECT_FORMAT = 2
"""Format 1 told of gaps that taut-noise found, not of packets."""


@dataclass(frozen=True)
class KnobOfEffect:
    """One knob, and what is known of it."""

    name: str
    summary: str
    why: str
    source: str


@dataclass(frozen=True)
class ChangeOfEffect:
    """What is written where the set is on."""

    setting: str
    on: str


@dataclass(frozen=True)
class Claim:
    """What the pairs show of one figure: on / off, or on - off, by its scale."""

    n_pairs: int
    estimate: float
    low: float | None
    """None: the interval has no end there, because of runs whose figure is a lost packet."""
    high: float | None
    p_value: float


@dataclass(frozen=True)
class FigureOfEffect:
    """One figure off and on."""

    name: str
    unit: str
    off: float | None
    """The median over the repetitions, in `unit`; None: none has the figure, or it is lost."""
    on: float | None
    off_of_repetitions: tuple[float | None, ...]
    """In pairs with those of `on`; None: that run does not have the figure, or it is lost."""
    on_of_repetitions: tuple[float | None, ...]
    scale: str
    effect: Claim | None
    """None: too few pairs of runs for a claim, or losses decide (`shown`)."""
    shown: str


@dataclass(frozen=True)
class OffOn:
    """A number off and on."""

    off: float
    on: float


@dataclass(frozen=True)
class CountOffOn:
    """Packets off and on."""

    off: int
    on: int


@dataclass(frozen=True)
class SetOfEffect:
    """Knobs that are turned together, and what that does."""

    name: str
    sentence: str
    knobs: tuple[KnobOfEffect, ...]
    changes: tuple[ChangeOfEffect, ...]
    figures: tuple[FigureOfEffect, ...]
    lost: CountOffOn
    sent: CountOffOn
    void_share: OffOn


@dataclass(frozen=True)
class EffectDocument:
    """Every set, measured off and on in turn."""

    method: str
    confidence: float
    """That all intervals hold together, 0 to 1."""
    confidence_of_each: float
    cores: str
    repetitions: int
    duration_ns: int | None
    """How long a trial lasts after its warm-up; None where trials differ."""
    percentiles: tuple[str, ...]
    cells: tuple[str, ...]
    sets: tuple[SetOfEffect, ...]
    notes: tuple[str, ...]
    format: int = EFFECT_FORMAT
