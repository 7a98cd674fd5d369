"""What becomes of each remedy, by what the pairs of runs show. Pure: figures in, decisions out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from taut.records.documents.trim import PART_OF_ALL, PairedRatio
from taut.trim.candidates import Candidate, When


class Verdict(StrEnum):
    """What all remedies together did to the figure."""

    HELPS = "helps"
    HARMS = "harms"
    NOT_SHOWN = "no effect shown"


class Decision(StrEnum):
    """What became of one remedy; the text stands in trim.json and the report."""

    KEPT_SHOWN = "kept: shown to help"
    KEPT_WHOLE = PART_OF_ALL
    KEPT_LOSSES = "kept: part of what was shown to help; without it too many packets were lost"
    KEPT_FREE = "kept: costs nothing and is predicted to help"
    PUT_BACK = "put back: nothing was shown"
    HARMED = "put back: it made the tail longer"
    NEEDS_BOOT = "needs a boot"
    BY_HAND = "by hand"


KEPT = frozenset(
    {Decision.KEPT_SHOWN, Decision.KEPT_WHOLE, Decision.KEPT_LOSSES, Decision.KEPT_FREE}
)


@dataclass(frozen=True)
class Decided:
    """A remedy and what becomes of it."""

    candidate: Candidate
    decision: Decision
    ratio: PairedRatio | None = None
    """The figure without its group over the figure with all groups; None: not measured."""


def verdict_of(effect: PairedRatio) -> Verdict:
    """Say what all remedies together do; `effect` is the ratio of trimmed to as found."""
    if not effect.is_shown:
        return Verdict.NOT_SHOWN
    return Verdict.HELPS if effect.high < 1 else Verdict.HARMS


def decide(
    candidates: Sequence[Candidate],
    verdict: Verdict,
    groups: Mapping[str, PairedRatio],
) -> list[Decided]:
    """Decide on every remedy. `groups`: by cause, the effect of leaving its group out, if measured.

    A single group is never left out: what is shown of all remedies is shown of that group.
    """
    decided = [_decide(candidate, verdict, groups.get(candidate.cause)) for candidate in candidates]
    if len({candidate.cause for candidate in candidates if candidate.when is When.NOW}) > 1:
        return decided
    return [
        replace(d, decision=Decision.KEPT_SHOWN) if d.decision is Decision.KEPT_WHOLE else d
        for d in decided
    ]


def _decide(candidate: Candidate, verdict: Verdict, ratio: PairedRatio | None) -> Decided:
    if candidate.when is When.BOOT:
        return Decided(candidate, Decision.NEEDS_BOOT)
    if candidate.when is When.BY_HAND:
        return Decided(candidate, Decision.BY_HAND)
    if verdict is Verdict.HARMS:
        return Decided(candidate, Decision.HARMED, ratio)
    if verdict is Verdict.NOT_SHOWN:
        return Decided(candidate, Decision.PUT_BACK, ratio)
    if ratio is None:
        return Decided(candidate, Decision.KEPT_WHOLE)
    if ratio.losses is not None:
        return Decided(candidate, Decision.KEPT_LOSSES, ratio)
    if ratio.low > 1:
        return Decided(candidate, Decision.KEPT_SHOWN, ratio)
    if ratio.high < 1:
        return Decided(candidate, Decision.HARMED, ratio)
    free = Decision.KEPT_FREE if candidate.is_free else Decision.PUT_BACK
    return Decided(candidate, free, ratio)
