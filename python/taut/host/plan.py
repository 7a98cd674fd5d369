"""Plan: what would be changed, in which order, what it costs, and why the rest is left alone.

Nothing is written.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from taut.core.cpus import CpuSet, format_cpu_list, parse_cpu_mask, parse_shown_list
from taut.core.errors import InputError, TautError
from taut.core.words import nearest
from taut.host.audit import Audit, Row, check_cores
from taut.host.check import Profile, Remedy, Rollback
from taut.host.host import Host
from taut.host.setting import Change, Setting
from taut.host.settings.cpuset_partition import CpusetPartition, isolation_here
from taut.host.settings.file import FileSetting
from taut.host.situation import Situation
from taut.host.table import Check

_REMEDY = re.compile(r"(now|boot|by-hand)(-\d)?")
"""What follows the check in a remedy's id."""


class Choice(StrEnum):
    """What a plan does with a remedy."""

    TAKE = "take"
    IN_FORCE = "in force"
    BY_HAND = "by hand"
    MEASURE = "measure"
    LEAVE = "leave"


@dataclass(frozen=True)
class PlannedChange:
    """One value: what is in force, and what is wanted."""

    change: Change
    old: str | None
    is_in_force: bool
    left: str = ""
    """Why it is not made although its remedy is taken; empty: it is made."""

    @property
    def is_due(self) -> bool:
        """Whether apply would write it."""
        return not self.is_in_force and not self.left


@dataclass(frozen=True)
class Step:
    """One remedy, whether it is taken, and why."""

    row: Row
    remedy: Remedy
    choice: Choice
    reason: str
    changes: Sequence[PlannedChange] = ()

    @property
    def due(self) -> list[PlannedChange]:
        """What apply would write now."""
        if self.choice is not Choice.TAKE:
            return []
        return [change for change in self.changes if change.is_due]


@dataclass(frozen=True)
class Plan:
    """Every remedy of every failed check, in the order they are made."""

    situation: Situation
    profile: Profile
    steps: Sequence[Step]
    notes: Sequence[str] = field(default_factory=tuple)

    def of(self, choice: Choice) -> list[Step]:
        """Steps of one choice."""
        return [step for step in self.steps if step.choice is choice]


def make_plan(
    host: Host, audit: Audit, profile: Profile, only: Collection[str] | None = None
) -> Plan:
    """Choose among the remedies of an audit. `only`: ids of checks or remedies, whatever profile.

    InputError: cores that leave none for housekeeping, or ids that are not in the catalogue.
    """
    check_cores(audit.situation.cores, audit.situation.online)
    check_names([row.check for row in audit.rows], only or ())
    pairs = [(row, remedy) for row in audit.rows for remedy in row.remedies]
    taken: dict[Setting, tuple[str, Change]] = {}
    steps = []
    for row, remedy in _in_order(pairs):
        choice, reason = _choice(row, remedy, profile, only)
        changes = [_planned(host, change) for change in remedy.changes]
        if choice is Choice.TAKE:
            changes = [_in_company(audit.situation, remedy, change, taken) for change in changes]
            choice, reason = _after_look(remedy, changes, reason)
        steps.append(Step(row, remedy, choice, reason, changes))
    return Plan(audit.situation, profile, steps, _notes(host, audit, steps, only or ()))


def _choice(
    row: Row, remedy: Remedy, profile: Profile, only: Collection[str] | None
) -> tuple[Choice, str]:
    is_named = only is not None and bool({row.check.id, remedy.id} & set(only))
    if not remedy.changes and not remedy.boot:
        return Choice.BY_HAND, remedy.by_hand or "taut cannot change it"
    if is_named:
        return Choice.TAKE, "named with --only"
    if only is not None:
        return Choice.LEAVE, "not named with --only"
    if remedy.profile > profile:
        return Choice.LEAVE, f"only profile {remedy.profile.name.lower()} goes so far"
    if remedy.by_name:
        return Choice.LEAVE, f"{remedy.by_name}: name it with --only"
    if remedy.measure:
        return Choice.MEASURE, f"advice contradicts itself: {remedy.measure}"
    if remedy.rollback is Rollback.NEVER and remedy.changes:
        return Choice.LEAVE, "cannot be taken back without a reboot: name it with --only"
    return Choice.TAKE, f"profile {remedy.profile.name.lower()} takes it: {row.check.why}"


def _after_look(
    remedy: Remedy, changes: Sequence[PlannedChange], reason: str
) -> tuple[Choice, str]:
    if remedy.boot or any(change.is_due for change in changes):
        return Choice.TAKE, reason
    left = next((each.left for each in changes if each.left and not each.is_in_force), "")
    return (Choice.LEAVE, left) if left else (Choice.IN_FORCE, "is so already")


def _planned(host: Host, change: Change) -> PlannedChange:
    old = change.setting.read(host)
    is_in_force = change.setting.agrees(old, change.wanted)
    is_absent = old is None and isinstance(change.setting, FileSetting)
    left = f"no {change.setting.name} on this machine" if is_absent else ""
    return PlannedChange(change, old, is_in_force, left)


def _in_company(
    situation: Situation,
    remedy: Remedy,
    planned: PlannedChange,
    taken: dict[Setting, tuple[str, Change]],
) -> PlannedChange:
    """Leave a change out that an earlier one makes already, or that must never be made."""
    change = planned.change
    why = planned.left or _danger(situation, change)
    if not why and change.setting in taken:
        other, earlier = taken[change.setting]
        is_same = change.setting.agrees(earlier.wanted, change.wanted)
        why = f"{other} does it" if is_same else f"{other} sets it to {earlier.wanted}"
    if not why:
        taken[change.setting] = (remedy.id, change)
    return PlannedChange(change, planned.old, planned.is_in_force, why)


def _danger(situation: Situation, change: Change) -> str:
    """Say why a change would cut off a network session, whose interrupts need a core; empty: no."""
    setting = change.setting
    if not isinstance(setting, FileSetting):
        return ""
    if not re.fullmatch(r"/proc/irq/(default_smp_affinity|\d+/smp_affinity(_list)?)", setting.path):
        return ""
    cores = _cores(setting, change.wanted)
    if set(cores) & set(situation.housekeeping):
        return ""
    return f"refused: {change.wanted} leaves the interrupt no housekeeping core"


def _cores(setting: FileSetting, text: str) -> CpuSet:
    is_list = setting.form == "list" or setting.path.endswith("_list")
    try:
        return parse_shown_list(text) if is_list else parse_cpu_mask(text)
    except (ValueError, InputError):
        return ()


def _in_order(pairs: Iterable[tuple[Row, Remedy]]) -> list[tuple[Row, Remedy]]:
    """Sort by the catalogue's order, except that a remedy comes after those it waits for."""
    waiting = list(pairs)
    ids = {remedy.id for _, remedy in waiting}
    done: set[str] = set()
    ordered = []
    while waiting:
        ready = next((pair for pair in waiting if not (set(pair[1].after) & ids) - done), None)
        if ready is None:
            names = ", ".join(remedy.id for _, remedy in waiting)
            raise TautError(f"remedies wait for each other: {names}")
        waiting.remove(ready)
        done.add(ready[1].id)
        ordered.append(ready)
    return ordered


def split_names(only: str | None) -> list[str] | None:
    """Turn `R06,K23-now` into names; an empty text is no name, None stays None."""
    if only is None:
        return None
    names = [name.strip() for name in only.split(",") if name.strip()]
    if only and not names:
        raise InputError(f"--only {only!r}: names nothing; name checks or remedies, as R24,R06")
    return names


def check_names(checks: Iterable[Check], names: Iterable[str], where: str = "--only") -> None:
    """Raise InputError for a name that is neither a check's nor a remedy's id; `where` it stands.

    Which remedies a check has depends on the host: any of its that could be one passes.
    """
    known = {check.id for check in checks}
    for name in names:
        check, _, remedy = name.partition("-")
        if check not in known or not (name == check or _REMEDY.fullmatch(remedy)):
            near = check if check in known else nearest(name, known)
            hint = f"did you mean {near}?" if near else "`taut host audit` lists them"
            raise InputError(f"{where} {name}: no such check or remedy; {hint}")


def _notes(
    host: Host, audit: Audit, steps: Sequence[Step], only: Collection[str]
) -> tuple[str, ...]:
    notes = []
    situation = audit.situation
    if not situation.cores:
        notes.append("no poll cores known: changes per core are missing; name them with --cores")
    if any(
        isinstance(planned.change.setting, CpusetPartition)
        for step in steps
        for planned in step.due
    ):
        notes.append(f"isolation of {format_cpu_list(situation.cores)}: {isolation_here(host)}")
    proposed = {step.remedy.id for step in steps} | {step.row.check.id for step in steps}
    for name in only:
        if name not in proposed:
            row = next(row for row in audit.rows if row.check.id == name.partition("-")[0])
            said = f"{row.finding.state}: {row.finding.observed}"
            notes.append(f"{name}: nothing to change; the check says {said}")
    return tuple(notes)
