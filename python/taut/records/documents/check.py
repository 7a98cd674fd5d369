"""Requirements judged: what `taut check --json` prints."""

from dataclasses import dataclass
from typing import Literal

from taut.records.documents.load import Device, Load

CHECK_FORMAT = 1

VerdictWord = Literal["pass", "fail", "inconclusive", "invalid"]


@dataclass(frozen=True)
class RequirementJudged:
    """One requirement of one device under one load."""

    device: Device
    load: Load
    trials: tuple[str, ...]
    requirement: str
    verdict: VerdictWord
    said: str
    n: int | None
    """Packets that were counted for it; None where rows were, of packets or of a soak."""
    n_eff: int | None
    """Independent packets they are worth; None where one packet decides."""
    needed_ns: int | None
    """How long must be measured in all until it may be shown; None: long enough, never, or of a
    soak."""


@dataclass(frozen=True)
class CheckDocument:
    """All requirements of a run."""

    run: str
    verdict: VerdictWord
    """fail where any fails; else invalid, inconclusive or pass."""
    without_void: bool
    """Whether packets that the generator itself held up were left out."""
    requirements: tuple[RequirementJudged, ...]
    format: int = CHECK_FORMAT
