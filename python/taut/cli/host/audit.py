"""`taut host audit`: every check of the catalogue, what is wrong first."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from taut.core.cpus import format_cpu_list, parse_cpu_list
from taut.core.units import parse_duration_ns
from taut.host.audit import Audit, Row, as_document, find_situation, run_audit
from taut.host.check import State
from taut.host.host import Host
from taut.host.situation import Role
from taut.host.trace_sample import record_events

_COLOURS = {
    State.PASS: "green",
    State.FAIL: "red",
    State.UNKNOWN: "yellow",
    State.NOT_APPLICABLE: "dim",
}


def audit(
    role: Annotated[Role | None, typer.Option(help="What it is used for; default: found.")] = None,
    cores: Annotated[
        str | None, typer.Option(help="Cores that poll, as 2-3; default: isolated, or polled on.")
    ] = None,
    interface: Annotated[
        list[str] | None, typer.Option(help="That carries the traffic; default: all with a device.")
    ] = None,
    watch: Annotated[str, typer.Option(help="How long to watch counters, 0s: not.")] = "1s",
    trace: Annotated[
        bool, typer.Option("--trace", help="Record kernel events on the cores while watching.")
    ] = False,
    show_all: Annotated[
        bool, typer.Option("--all", help="Show every check, not only what failed or is unknown.")
    ] = False,
    root: Annotated[
        Path, typer.Option(help="A folder with a copied machine's /proc, /sys and /etc.")
    ] = Path("/"),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Check this machine against the catalogue: what is wrong, why it matters, what helps.

    Reads only. Exit status 0 whatever is found: a verdict is for `taut check`.
    """
    host = Host(root)
    situation = find_situation(
        host, role, None if cores is None else parse_cpu_list(cores), interface or None
    )
    found = run_audit(
        host,
        situation,
        watch_s=parse_duration_ns(watch) / 1e9 if host.is_live else 0.0,
        trace=record_events if trace and host.is_live else None,
    )
    if as_json:
        typer.echo(json.dumps(as_document(found), indent=1))
    else:
        _print(found, show_all=show_all)


def _print(found: Audit, *, show_all: bool) -> None:
    console = Console()
    situation = found.situation
    cores = format_cpu_list(situation.cores) or "none named or found (--cores)"
    console.print(f"Role {situation.role}, poll cores {cores}.")
    rows = list(found.rows) if show_all else found.failures()
    if rows:
        console.print(_failures(rows, show_all=show_all))
    unknown = [row for row in found.rows if row.finding.state is State.UNKNOWN]
    if unknown and not show_all:
        table = Table("", "unknown", "what would tell", box=None, title="Unknown")
        for row in unknown:
            table.add_row(row.check.id, escape(row.check.title), escape(row.finding.needs))
        console.print(table)
    counts = ", ".join(f"{found.count(state)} {state}" for state in State)
    console.print(f"{len(found.rows)} checks: {counts}.")
    if not show_all:
        console.print("--all shows every check, --json with why and source.")


def _failures(rows: list[Row], *, show_all: bool) -> Table:
    table = Table(box=None, title=None if show_all else "Failed, the worst first")
    for name in ("", "", "severity", "what", "observed", "wanted", "remedy"):
        table.add_column(name, overflow="fold")
    for row in rows:
        state = row.finding.state
        remedy = row.remedies[0] if row.remedies else None
        table.add_row(
            row.check.id,
            f"[{_COLOURS[state]}]{state}[/]",
            row.check.severity.name.lower(),
            escape(row.check.title),
            escape(row.finding.observed),
            escape(row.finding.wanted or row.finding.needs),
            escape((remedy.by_hand or remedy.summary) if remedy else ""),
        )
    return table
