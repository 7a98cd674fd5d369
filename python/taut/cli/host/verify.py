"""`taut host verify`: whether what apply put is still in force."""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from taut.cli.host.planning import shown
from taut.host.host import Host
from taut.host.verify import Standing, Verification
from taut.host.verify import verify as verify_host

_COLOURS = {
    Standing.IN_FORCE: "green",
    Standing.CHANGED: "red",
    Standing.LOST: "yellow",
    Standing.NOT_MADE: "yellow",
}


def verify(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Read every changed setting again. Exit status 1: not all of them are in force."""
    found = verify_host(Host())
    if as_json:
        typer.echo(json.dumps(_document(found), indent=1))
    else:
        _print(found)
    if not found.is_good:
        raise typer.Exit(1)


def _document(found: Verification) -> dict[str, object]:
    return {
        "format": 1,
        "complaints": list(found.complaints),
        "changes": [
            {
                "remedy": one.entry.remedy,
                "setting": one.entry.setting.name,
                "old": one.entry.old,
                "wanted": one.entry.wanted,
                "now": one.now,
                "standing": one.standing,
                "note": one.note,
            }
            for one in found.changes
        ],
    }


def _print(found: Verification) -> None:
    console = Console()
    for complaint in found.complaints:
        console.print(complaint, markup=False)
    if not found.changes:
        console.print("Nothing is applied.")
        return
    table = Table(box=None)
    for name in ("", "setting", "wanted", "now", ""):
        table.add_column(name, overflow="fold")
    for one in found.changes:
        table.add_row(
            escape(one.entry.remedy),
            escape(one.entry.setting.name),
            escape(shown(one.entry.wanted)),
            escape(shown(one.now)),
            f"[{_COLOURS[one.standing]}]{one.standing}[/] {escape(one.note)}",
        )
    console.print(table)
    n_good = sum(one.standing is Standing.IN_FORCE for one in found.changes)
    console.print(f"{n_good} of {len(found.changes)} changes in force.")
