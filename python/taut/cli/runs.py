"""`taut runs [DIR]`: what was measured here, the newest first."""

import json
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from taut.cli.options import JsonOption
from taut.core.errors import InputError
from taut.records.documents.json_form import plain, plain_object
from taut.report.found_runs import find_runs
from taut.report.paragraph import print_paragraph

EXAMPLES = (
    "taut runs",
    "taut runs runs --json",
    "taut runs runs --html runs/index.html",
)


def runs(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder that holds run directories.")
    ] = Path("runs"),
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write a page of them here, with links to their reports."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List what was measured here, the newest first: when, what, and what was found.

    The page of --html opens offline and can be sorted.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; `taut run` and `taut quick` make runs/")
    found = sorted(find_runs(folder), key=lambda run: run.started_utc, reverse=True)
    if html is not None:
        # Here, not above: it takes longer than the rest.
        from taut.report.index import write_index

        write_index(folder, found, html)
    if as_json:
        documents = [plain_object(run) | {"outcome": run.outcome} for run in found]
        print(json.dumps(plain({"format": 1, "runs": documents}), indent=1))
        return
    console = Console()
    for run in found:
        devices = ", ".join(run.devices) or "no device"
        print_paragraph(console, f"{run.run}  {_local(run.started_utc)}", style="bold")
        print_paragraph(console, f"{run.name}: {devices}", "  ")
        print_paragraph(console, run.outcome, "  ")
        console.print()
    n = len(found)
    print_paragraph(console, f"{n or 'No'} run{'' if n == 1 else 's'} in {folder}.")
    if html is not None:
        print_paragraph(console, f"Index: {html}")


def _local(started_utc: str) -> str:
    """Give the time of day here: the manifest has UTC."""
    if not started_utc:
        return ""
    return f"{datetime.fromisoformat(started_utc).astimezone():%Y-%m-%d %H:%M}"
