"""A plan: what `taut host plan --json` prints."""

from dataclasses import dataclass

PLAN_FORMAT = 1


@dataclass(frozen=True)
class ChangeDocument:
    """One setting and what is to be written to it."""

    setting: str
    kind: str
    old: str | None
    new: str
    in_force: bool
    left: str
    """Why it is left alone; empty: it is not."""


@dataclass(frozen=True)
class BootDocument:
    """What takes effect with the next boot."""

    kind: str
    item: str


@dataclass(frozen=True)
class StepDocument:
    """One remedy, whether it is chosen, and what it does."""

    check: str
    remedy: str
    title: str
    severity: str
    summary: str
    choice: str
    reason: str
    observed: str
    profile: str
    now: tuple[ChangeDocument, ...]
    boot: tuple[BootDocument, ...]
    by_hand: str
    risk: str
    cost: str
    measure: str
    rollback: str


@dataclass(frozen=True)
class PlanDocument:
    """The remedies for a host in one situation, in the order they are made."""

    role: str
    cores: str
    profile: str
    notes: tuple[str, ...]
    steps: tuple[StepDocument, ...]
    format: int = PLAN_FORMAT
