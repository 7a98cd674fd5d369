"""Which remedies a trim tries: those of the causes found first, then those of the audit's failures.

Each belongs to a group: that of the cause it is a remedy of (of several, the largest of the tail),
or that of no cause. To see what carries the effect, groups are left out, not single remedies:
affinity and cpuset both keep another thread off a core, and leaving out only one of them would show
nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from taut.explain.causes import BY_ID
from taut.host.check import Remedy
from taut.host.plan import Choice, Plan, Step
from taut.host.plan_document import item_text
from taut.records.documents.trim import PairedRatio, RemedyOfTrim

LEAST_SHARE = 0.01
"""A cause with a smaller share of the tail asks for no remedy."""

NO_CAUSE = ""
"""The group of remedies that only the audit asks for."""


class When(StrEnum):
    """How a remedy takes effect."""

    NOW = "now"
    BOOT = "at boot"
    BY_HAND = "by hand"


@dataclass(frozen=True)
class CauseFound:
    """A cause, and its share of the late packets of the host as found (0 to 1)."""

    cause: str
    title: str
    share: float


@dataclass(frozen=True)
class Candidate:
    """One remedy, why it is tried, and at what price."""

    remedy: str
    check: str
    summary: str
    when: When
    cause: str
    """Id of the cause that asks for it, which is its group; NO_CAUSE: only the audit does."""
    share: float
    severity: str
    risk: str
    cost: str
    lines: tuple[str, ...] = ()
    """What would be written, or the boot items, or what to do by hand."""

    @property
    def is_free(self) -> bool:
        """Whether its check names no cost of keeping it."""
        return not self.cost and not self.risk

    def document(
        self, decision: str | None = None, without_it: PairedRatio | None = None
    ) -> RemedyOfTrim:
        """Give one entry of the trim's document."""
        return RemedyOfTrim(
            remedy=self.remedy,
            check=self.check,
            summary=self.summary,
            when=self.when,
            cause=self.cause,
            share=self.share,
            severity=self.severity,
            risk=self.risk,
            cost=self.cost,
            lines=self.lines,
            decision=decision,
            without_it=without_it,
        )


def shares_of(amounts: Mapping[str, float], titles: Mapping[str, str]) -> list[CauseFound]:
    """Turn the amounts of causes into shares, the largest first; none where all are 0."""
    total = sum(amounts.values())
    ordered = sorted(amounts, key=lambda cause: -amounts[cause])
    return [CauseFound(c, titles[c], amounts[c] / total) for c in ordered if amounts[c]]


def list_candidates(plan: Plan, causes: Sequence[CauseFound]) -> list[Candidate]:
    """List what a plan changes now or at boot, or leaves to people, by cause, then severity.

    What is left to people is listed only if it helps a cause that was found; the audit lists all.
    """
    asked = asked_for(causes)
    found = [
        _candidate(step, asked)
        for step in plan.steps
        if step.choice in (Choice.TAKE, Choice.BY_HAND)
    ]
    wanted = [c for c in found if c is not None and (c.when is not When.BY_HAND or c.cause)]
    severity = {step.row.check.id: int(step.row.check.severity) for step in plan.steps}
    order = list(When)
    return sorted(wanted, key=lambda c: (order.index(c.when), -c.share, -severity[c.check]))


def asked_for(causes: Sequence[CauseFound]) -> Mapping[str, CauseFound]:
    """Give, for each check that helps a cause found, the largest such cause."""
    asked: dict[str, CauseFound] = {}
    for cause in sorted(causes, key=lambda cause: -cause.share):
        if cause.share >= LEAST_SHARE and cause.cause in BY_ID:
            for check in BY_ID[cause.cause].remedies:
                asked.setdefault(check, cause)
    return asked


def _candidate(step: Step, asked: Mapping[str, CauseFound]) -> Candidate | None:
    remedy = step.remedy
    cause = asked.get(step.row.check.id)
    when, lines = _how(step, remedy)
    if not lines:
        return None
    return Candidate(
        remedy=remedy.id,
        check=step.row.check.id,
        summary=remedy.summary,
        when=when,
        cause=cause.cause if cause else NO_CAUSE,
        share=cause.share if cause else 0.0,
        severity=step.row.check.severity.name.lower(),
        risk=remedy.risk,
        cost=remedy.cost,
        lines=tuple(lines),
    )


def _how(step: Step, remedy: Remedy) -> tuple[When, list[str]]:
    if step.choice is Choice.BY_HAND:
        return When.BY_HAND, [remedy.by_hand] if remedy.by_hand else []
    if step.due:
        return When.NOW, [f"{due.change.setting.name}: {due.change.wanted}" for due in step.due]
    return When.BOOT, [item_text(item) for item in remedy.boot]
