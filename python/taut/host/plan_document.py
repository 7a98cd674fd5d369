"""A plan as a document: `taut host plan --json`."""

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
from taut.records.documents.plan import BootDocument, ChangeDocument, PlanDocument, StepDocument


def as_document(plan: Plan) -> PlanDocument:
    """Give everything a plan says."""
    return PlanDocument(
        role=plan.situation.role,
        cores=format_cpu_list(plan.situation.cores),
        profile=plan.profile.name.lower(),
        notes=tuple(plan.notes),
        steps=tuple(_step(step) for step in plan.steps),
    )


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


def _step(step: Step) -> StepDocument:
    remedy = step.remedy
    return StepDocument(
        check=step.row.check.id,
        remedy=remedy.id,
        title=step.row.check.title,
        severity=step.row.severity.name.lower(),
        summary=remedy.summary,
        choice=step.choice,
        reason=step.reason,
        observed=step.row.finding.observed,
        profile=remedy.profile.name.lower(),
        now=tuple(_change(change) for change in step.changes),
        boot=tuple(BootDocument(type(item).__name__, item_text(item)) for item in remedy.boot),
        by_hand=remedy.by_hand,
        risk=remedy.risk,
        cost=remedy.cost,
        measure=remedy.measure,
        rollback=remedy.rollback,
    )


def _change(planned: PlannedChange) -> ChangeDocument:
    return ChangeDocument(
        setting=planned.change.setting.name,
        kind=planned.change.setting.kind,
        old=planned.old,
        new=planned.change.wanted,
        in_force=planned.is_in_force,
        left=planned.left,
    )
