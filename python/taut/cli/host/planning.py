"""What plan and apply share: options, the audit they rest on, and how a plan is printed."""

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from taut.cli.host.options import waiting_of
from taut.cli.host.values import shown
from taut.cli.options import parse_cores
from taut.core.cpus import format_cpu_list
from taut.core.units import parse_duration_ns
from taut.host.audit import find_situation, run_audit
from taut.host.boot_files import boot_files
from taut.host.check import Rollback, parse_profile
from taut.host.checks import CHECKS
from taut.host.host import Host
from taut.host.plan import Choice, Plan, Step, make_plan, split_names
from taut.host.plan_document import item_text
from taut.host.situation import Role
from taut.report.paragraph import INDENT, print_paragraph


def plan_for(
    host: Host,
    *,
    role: Role | None,
    cores: str | None,
    profile: str,
    only: str | None = None,
    watch: str = "0s",
    device: str | None = None,
) -> Plan:
    """Audit the host and plan."""
    chosen = parse_profile(profile)
    situation = find_situation(
        host,
        role,
        parse_cores(cores),
        waiting=waiting_of(device),
    )
    audit = run_audit(
        host, situation, watch_s=parse_duration_ns(watch) / 1e9 if host.is_live else 0
    )
    return make_plan(host, audit, chosen, split_names(only))


def boot_files_of(
    host: Host, plan: Plan, *, only: str | None, forms: Sequence[str]
) -> Mapping[str, Mapping[str, str]]:
    """Give the boot configuration that goes with a plan."""
    return boot_files(
        host,
        plan.situation,
        plan.profile,
        checks=CHECKS,
        program=_own_path(),
        forms=forms,
        only=split_names(only),
    )


def print_plan(console: Console, plan: Plan, *, show_all: bool) -> None:
    """Print what would be done, then what is left to people."""
    cores = format_cpu_list(plan.situation.cores) or "none named or found"
    print_paragraph(
        console,
        f"Role {plan.situation.role}, poll cores {cores}, profile {plan.profile.name.lower()}.",
    )
    taken = plan.of(Choice.TAKE)
    now = [step for step in taken if step.due]
    if now:
        _print_title(console, "Now, in this order")
    for step in now:
        _print_step(console, step)
        _print_lines(
            console,
            [
                f"{due.change.setting.name}: {shown(due.old)} -> {shown(due.change.wanted)}"
                for due in step.due
            ],
        )
    boot = [step for step in taken if step.remedy.boot]
    if boot:
        _print_title(console, "At boot (--boot)")
    for step in boot:
        _print_step(console, step)
        _print_lines(console, [item_text(item) for item in step.remedy.boot])
    for choice, title in (
        (Choice.MEASURE, "Measure (advice contradicts itself; --only takes it)"),
        (Choice.BY_HAND, "By hand"),
        *(((Choice.LEAVE, "Left alone"), (Choice.IN_FORCE, "So already")) if show_all else ()),
    ):
        steps = plan.of(choice)
        if steps:
            _print_left(console, title, steps)
    for note in plan.notes:
        console.print()
        print_paragraph(console, f"Note: {note}")
    if not taken:
        print_paragraph(console, "Nothing to change.")


def _own_path() -> str:
    """Give taut's own absolute path, which systemd units need."""
    called = Path(sys.argv[0])
    if called.name == "taut":
        return str(called.resolve())
    return shutil.which("taut") or "/usr/bin/taut"


def _print_step(console: Console, step: Step) -> None:
    """Print one remedy: what it is, why, at what price, and every value or item."""
    remedy = step.remedy
    console.print()
    print_paragraph(console, f"{remedy.id}  {remedy.summary}", "", INDENT, style="bold")
    lines = [("why", step.reason), ("risk", remedy.risk), ("cost", remedy.cost)]
    if remedy.rollback is not Rollback.WRITE_BACK:
        lines.append(("undo", remedy.rollback))
    _print_lines(console, [f"{name}: {text}" for name, text in lines if text])


def _print_lines(console: Console, lines: Sequence[str]) -> None:
    for line in lines:
        print_paragraph(console, line, INDENT, 2 * INDENT)


def _print_title(console: Console, title: str) -> None:
    console.print()
    print_paragraph(console, title, style="italic")


def _print_left(console: Console, title: str, steps: Sequence[Step]) -> None:
    _print_title(console, title)
    for step in steps:
        text = f"{step.remedy.id}  {step.remedy.summary}: {step.reason}"
        print_paragraph(console, text, "", INDENT)
