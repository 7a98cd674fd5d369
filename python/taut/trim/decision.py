"""What becomes of each remedy, by what the pairs of runs show. Pure: figures in, decisions out."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from taut.records.documents.trim import LESS, MORE, UNCONFIRMED, UNMEASURED, PairedRatio
from taut.records.rundir import TRIMMED
from taut.trim.candidates import Candidate, When


class Verdict(StrEnum):
    """What all remedies together did to the figure."""

    HELPS = "helps"
    HARMS = "harms"
    NOT_SHOWN = "no effect shown"


class Decision(StrEnum):
    """What became of one remedy; the text stands in trim.json and the report."""

    KEPT_SHOWN = "kept: shown to help"
    KEPT_GROUP = "kept: its group was shown to help"
    KEPT_ALL = "kept: all together were shown to help"
    KEPT_WHOLE = UNMEASURED
    KEPT_UNCONFIRMED = UNCONFIRMED
    KEPT_LOSSES = "kept: part of what was shown to help; without it too many packets were lost"
    KEPT_UNTOLD = "kept: part of what was shown to help; too many packets were lost to say more"
    KEPT_FREE = "kept: costs nothing; nothing was shown"
    PUT_BACK = "put back: nothing was shown"
    HARMED = "put back: it made the figure worse"
    HARMED_GROUP = "put back: its group made the figure worse"
    HARMED_ALL = "put back: all together made the figure worse"
    HARMED_LOSSES = "put back: its group made the figure worse: with it too many packets were lost"
    NEEDS_BOOT = "needs a boot"
    BY_HAND = "by hand"


KEPT = frozenset(one for one in Decision if one.startswith("kept"))
HARMFUL = frozenset(
    {Decision.HARMED, Decision.HARMED_GROUP, Decision.HARMED_ALL, Decision.HARMED_LOSSES}
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
    return Verdict.HELPS if effect.is_less else Verdict.HARMS


def decide(
    candidates: Sequence[Candidate],
    verdict: Verdict,
    groups: Mapping[str, PairedRatio],
) -> list[Decided]:
    """Decide on every remedy. `groups`: by cause, the effect of leaving its group out, if measured.

    A single group is never left out: what is shown of all remedies is shown of that group. Of each
    only that is said which was measured: of itself, of its group, or of all together.
    """
    members = Counter(candidate.cause for candidate in candidates if candidate.when is When.NOW)
    n_all = members.total()
    decided = [
        _decide(candidate, verdict, groups.get(candidate.cause), members[candidate.cause], n_all)
        for candidate in candidates
    ]
    if len(members) > 1:
        return decided
    shown = Decision.KEPT_SHOWN if n_all == 1 else Decision.KEPT_ALL
    return [replace(d, decision=shown) if d.decision is Decision.KEPT_WHOLE else d for d in decided]


def _decide(
    candidate: Candidate, verdict: Verdict, ratio: PairedRatio | None, n_group: int, n_all: int
) -> Decided:
    if candidate.when is When.BOOT:
        return Decided(candidate, Decision.NEEDS_BOOT)
    if candidate.when is When.BY_HAND:
        return Decided(candidate, Decision.BY_HAND)
    if verdict is Verdict.HARMS:
        harmed = Decision.HARMED if n_all == 1 else Decision.HARMED_ALL
        return Decided(candidate, harmed, ratio)
    if verdict is Verdict.NOT_SHOWN:
        return Decided(candidate, Decision.PUT_BACK, ratio)
    if ratio is None:
        return Decided(candidate, Decision.KEPT_WHOLE)
    if ratio.losses is not None:
        return Decided(candidate, _by_losses(ratio), ratio)
    if ratio.is_more:
        shown = Decision.KEPT_SHOWN if n_group == 1 else Decision.KEPT_GROUP
        return Decided(candidate, shown, ratio)
    if ratio.is_less:
        harmed = Decision.HARMED if n_group == 1 else Decision.HARMED_GROUP
        return Decided(candidate, harmed, ratio)
    free = Decision.KEPT_FREE if candidate.is_free else Decision.PUT_BACK
    return Decided(candidate, free, ratio)


def _by_losses(ratio: PairedRatio) -> Decision:
    """Decide where the figure is a lost packet: the ratio has no size, but by ranks a direction."""
    lost_in = ratio.lost_in or ()
    if TRIMMED not in lost_in:
        return Decision.KEPT_LOSSES if ratio.by_ranks == MORE else Decision.KEPT_UNTOLD
    is_shown = lost_in == (TRIMMED,) and ratio.by_ranks == LESS
    return Decision.HARMED_LOSSES if is_shown else Decision.KEPT_UNTOLD
