"""A plan as a document: `taut host plan --json`."""

from typing import Any

from taut.core.cpus import format_cpu_list
from taut.host.boot.item import (
    BootItem,
    KernelParameter,
    ModuleOption,
    Sysctl,
    SysfsValue,
    UnitState,
)
from taut.host.plan import Plan, PlannedChange, Step

FORMAT = 1


def as_document(plan: Plan) -> dict[str, Any]:
    """Give everything a plan says."""
    return {
        "format": FORMAT,
        "role": plan.situation.role,
        "cores": format_cpu_list(plan.situation.cores),
        "profile": plan.profile.name.lower(),
        "notes": list(plan.notes),
        "steps": [_step(step) for step in plan.steps],
    }


def item_text(item: BootItem) -> str:
    """Give a boot item in the words of its own configuration."""
    match item:
        case KernelParameter():
            return f"kernel parameter {item}"
        case Sysctl():
            return f"sysctl {item.key} = {item.value}"
        case SysfsValue():
            return f"{item.path} = {item.value}"
        case ModuleOption():
            return f"option of module {item.module}: {item.option}={item.value}"
        case UnitState():
            return f"unit {item.unit}: {'enabled' if item.is_enabled else 'disabled'}"


def _step(step: Step) -> dict[str, Any]:
    remedy = step.remedy
    return {
        "check": step.row.check.id,
        "remedy": remedy.id,
        "title": step.row.check.title,
        "severity": step.row.severity.name.lower(),
        "summary": remedy.summary,
        "choice": step.choice,
        "reason": step.reason,
        "observed": step.row.finding.observed,
        "profile": remedy.profile.name.lower(),
        "now": [_change(change) for change in step.changes],
        "boot": [{"kind": type(item).__name__, "item": item_text(item)} for item in remedy.boot],
        "by_hand": remedy.by_hand,
        "risk": remedy.risk,
        "cost": remedy.cost,
        "measure": remedy.measure,
        "rollback": remedy.rollback,
    }


def _change(planned: PlannedChange) -> dict[str, Any]:
    return {
        "setting": planned.change.setting.name,
        "kind": planned.change.setting.kind,
        "old": planned.old,
        "new": planned.change.wanted,
        "in_force": planned.is_in_force,
        "left": planned.left,
    }
