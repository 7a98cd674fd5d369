"""`taut host audit`: every check of the catalogue, a paragraph each, the worst first."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from taut.cli.host.options import (
    CoresOption,
    DeviceOption,
    RoleOption,
    RootOption,
    WatchOption,
    waiting_of,
)
from taut.cli.options import JsonOption, parse_cores
from taut.core.cpus import format_cpu_list
from taut.core.units import parse_duration_ns
from taut.experiment.interrupt import interruptible
from taut.host.audit import Audit, Row, as_document, find_situation, run_audit
from taut.host.check import Severity, State
from taut.host.host import Host
from taut.host.trace_sample import record_events
from taut.records.documents.json_form import plain
from taut.report.paragraph import INDENT, print_paragraph

_STYLES = {
    State.FAIL: "bold red",
    State.UNKNOWN: "bold yellow",
    State.PASS: "bold green",
    State.NOT_APPLICABLE: "bold dim",
}
_WORDS = {
    State.FAIL: "failed",
    State.UNKNOWN: "unknown",
    State.PASS: "passed",
    State.NOT_APPLICABLE: "not applicable",
}


EXAMPLES = (
    "taut host audit",
    "taut host audit --cores 1 --all",
)


def audit(
    role: RoleOption = None,
    cores: CoresOption = None,
    interface: Annotated[
        list[str] | None,
        typer.Option(
            metavar="INTERFACE", help="One that carries the traffic; default: all with a device."
        ),
    ] = None,
    device: DeviceOption = None,
    watch: WatchOption = "1s",
    trace: Annotated[
        bool, typer.Option("--trace", help="Record kernel events on the cores while watching.")
    ] = False,
    show_all: Annotated[
        bool, typer.Option("--all", help="Show every check, not only what failed.")
    ] = False,
    root: RootOption = Path("/"),
    as_json: JsonOption = False,
) -> None:
    """Check this machine against the catalogue: what is wrong, why it matters, what helps.

    Reads only. Exit status 0 whatever is found; `taut host plan` says what to do about it.
    """
    host = Host(root)
    situation = find_situation(
        host,
        role,
        parse_cores(cores),
        interface or None,
        waiting_of(device),
    )
    # A signal that ends it must not leave the kernel recording.
    with interruptible() if trace else nullcontext():
        found = run_audit(
            host,
            situation,
            watch_s=parse_duration_ns(watch) / 1e9 if host.is_live else 0.0,
            trace=record_events if trace and host.is_live else None,
        )
    if as_json:
        typer.echo(json.dumps(plain(as_document(found)), indent=1))
    else:
        print_audit(Console(), found, show_all=show_all)


def print_audit(console: Console, found: Audit, *, show_all: bool) -> None:
    """Print a paragraph for each failure, the worst first, then all others if asked, and counts."""
    situation = found.situation
    cores = format_cpu_list(situation.cores) or "none named or found (--cores)"
    print_paragraph(console, f"Role {situation.role}, poll cores {cores}.")
    if situation.sleeps:
        print_paragraph(console, "What runs there sleeps: each packet has to wake its core.")
    for row in found.failures():
        _print_row(console, row)
    if show_all:
        for state in list(_WORDS)[1:]:
            for row in found.of(state):
                _print_row(console, row)
    console.print()
    print_paragraph(console, _summary(found))
    if not show_all:
        print_paragraph(console, "--all shows every check, --json also who says so.")


def _print_row(console: Console, row: Row) -> None:
    check, finding = row.check, row.finding
    is_failure = finding.state is State.FAIL
    kind = row.severity.name.lower() if is_failure else _WORDS[finding.state]
    lines = [("Why: ", check.why if is_failure else ""), ("Found: ", finding.observed)]
    if finding.state is not State.PASS:
        lines += [("Wanted: ", finding.wanted), ("To know: ", finding.needs)]
    lines += [(f"{each.id}: ", each.by_hand or each.summary) for each in row.remedies[:1]]
    console.print()
    title = f"{row.fault or check.title} ({kind}, {check.id})"
    print_paragraph(console, title, hanging=INDENT, style=_STYLES[finding.state])
    for name, text in lines:
        if text:
            print_paragraph(console, name + text, INDENT, 2 * INDENT)


def _summary(found: Audit) -> str:
    """Count: every check is in one state, every failure of one severity."""
    failures = found.failures()
    by_severity = ", ".join(
        f"{n} {severity.name.lower()}"
        for severity in Severity
        if (n := sum(row.severity is severity for row in failures))
    )
    counts = [f"{found.count(state)} {word}" for state, word in _WORDS.items()]
    if by_severity:
        counts[0] += f" ({by_severity})"
    return f"{len(found.rows)} checks: {', '.join(counts)}."
