"""What plan and apply share: options, the audit they rest on, and how a plan is printed."""

import os
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from taut.core.cpus import format_cpu_list, parse_cpu_list
from taut.core.errors import InputError
from taut.core.units import parse_duration_ns
from taut.host.audit import find_situation, run_audit
from taut.host.check import Profile
from taut.host.host import Host
from taut.host.plan import Choice, Plan, Step, make_plan
from taut.host.situation import Role

_WIDTH = 60


def plan_for(
    host: Host,
    *,
    role: Role | None,
    cores: str | None,
    profile: str,
    only: str | None = None,
    watch: str = "0s",
) -> Plan:
    """Audit the host and plan."""
    chosen = parse_profile(profile)
    situation = find_situation(host, role, None if cores is None else parse_cpu_list(cores))
    audit = run_audit(
        host, situation, watch_s=parse_duration_ns(watch) / 1e9 if host.is_live else 0
    )
    names = None if only is None else [name.strip() for name in only.split(",") if name.strip()]
    return make_plan(host, audit, chosen, names)


def parse_profile(name: str) -> Profile:
    """Turn a name into a profile."""
    known = {each.name.lower(): each for each in Profile}
    if name not in known:
        raise InputError(f"no profile {name!r}; there are {', '.join(known)}")
    return known[name]


def need_root(what: str) -> None:
    """Refuse before anything is written."""
    if os.geteuid() != 0:
        raise InputError(f"{what} needs root; nothing was written")


def print_plan(console: Console, plan: Plan, *, show_all: bool) -> None:
    """Print what would be done, then what is left to people."""
    cores = format_cpu_list(plan.situation.cores) or "none named or found"
    console.print(
        f"Role {plan.situation.role}, poll cores {cores}, profile {plan.profile.name.lower()}."
    )
    taken = plan.of(Choice.TAKE)
    now = [step for step in taken if step.due]
    if now:
        console.print(_changes("Now, in this order", now))
    boot = [step for step in taken if step.remedy.boot]
    if boot:
        console.print(_boot(boot))
    for choice, title in (
        (Choice.MEASURE, "Measure (advice contradicts itself; --only takes it)"),
        (Choice.BY_HAND, "By hand"),
        *(((Choice.LEAVE, "Left alone"), (Choice.IN_FORCE, "So already")) if show_all else ()),
    ):
        steps = plan.of(choice)
        if steps:
            console.print(_left(title, steps))
    for note in plan.notes:
        console.print(f"Note: {note}", markup=False)
    if not taken:
        console.print("Nothing to change.")


def shown(value: str | None) -> str:
    """Give a value for a table: short, on one line."""
    if value is None:
        return "none"
    words = " ".join(value.split())
    return words if len(words) <= _WIDTH else f"{words[: _WIDTH - 3]}..."


def _changes(title: str, steps: Sequence[Step]) -> Table:
    table = Table("", "setting", "now", "new", "risk, cost", "why", box=None, title=title)
    for step in steps:
        remedy = step.remedy
        price = "; ".join(part for part in (remedy.risk, remedy.cost) if part)
        for number, planned in enumerate(step.due):
            is_first = number == 0
            table.add_row(
                escape(remedy.id) if is_first else "",
                escape(planned.change.setting.name),
                escape(shown(planned.old)),
                escape(shown(planned.change.wanted)),
                escape(price) if is_first else "",
                escape(step.reason) if is_first else "",
            )
    return table


def _boot(steps: Sequence[Step]) -> Table:
    table = Table("", "at boot", "risk, cost", box=None, title="At boot (--boot)")
    for step in steps:
        items = "\n".join(str(item) for item in step.remedy.boot)
        price = "; ".join(part for part in (step.remedy.risk, step.remedy.cost) if part)
        table.add_row(escape(step.remedy.id), escape(items), escape(price))
    return table


def _left(title: str, steps: Sequence[Step]) -> Table:
    table = Table("", "what", "why", box=None, title=title)
    for step in steps:
        table.add_row(escape(step.remedy.id), escape(step.remedy.summary), escape(step.reason))
    return table
