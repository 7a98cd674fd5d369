"""`taut host verify`: whether what apply put is still in force."""

import json

import typer
from rich.console import Console

from taut.cli.host.values import shown
from taut.cli.options import JsonOption
from taut.host.host import Host
from taut.host.verify import Standing, Verification, Verified
from taut.host.verify import verify as verify_host
from taut.records.documents.host import ChangeVerified, VerifyDocument
from taut.records.documents.json_form import plain
from taut.report.paragraph import INDENT, print_paragraph

_COLOURS = {
    Standing.IN_FORCE: "green",
    Standing.CHANGED: "red",
    Standing.LOST: "yellow",
    Standing.NOT_MADE: "yellow",
}


EXAMPLES = ("taut host verify",)


def verify(
    as_json: JsonOption = False,
) -> None:
    """Read every changed setting again. Exit status 1: not all of them are in force."""
    found = verify_host(Host())
    if as_json:
        typer.echo(json.dumps(plain(_document(found)), indent=1))
    else:
        _print(found)
    if not found.is_good:
        raise typer.Exit(1)


def _document(found: Verification) -> VerifyDocument:
    return VerifyDocument(
        complaints=tuple(found.complaints),
        changes=tuple(
            ChangeVerified(
                remedy=one.entry.remedy,
                setting=one.entry.setting.name,
                old=one.entry.old,
                wanted=one.entry.wanted,
                now=one.now,
                standing=one.standing,
                note=one.note,
            )
            for one in found.changes
        ),
    )


def _print(found: Verification) -> None:
    console = Console()
    for complaint in found.complaints:
        print_paragraph(console, complaint)
    if not found.changes:
        print_paragraph(console, "Nothing is applied.")
        return
    for one in found.changes:
        print_paragraph(console, _line(one), "", INDENT, style=_COLOURS[one.standing])
    n_good = sum(one.standing is Standing.IN_FORCE for one in found.changes)
    print_paragraph(console, f"{n_good} of {len(found.changes)} changes in force.")


def _line(one: Verified) -> str:
    """`R06-now  /proc/sys/vm/stat_interval: 120, in force`."""
    wanted, now = shown(one.entry.wanted), shown(one.now)
    values = now if one.standing is Standing.IN_FORCE else f"wanted {wanted}, now {now}"
    note = f" ({one.note})" if one.note else ""
    return f"{one.entry.remedy}  {one.entry.setting.name}: {values}, {one.standing}{note}"
