"""A published experiment beside what was measured, where `taut reproduce` left it in a run."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from taut.records.rundir import RunDirectory
from taut.report.columns import print_columns, words
from taut.report.paragraph import print_paragraph

PUBLISHED_FILE = "published.json"

Published = Mapping[str, Any]


def read_published(run: RunDirectory) -> list[Published]:
    """Give the tables of published beside measured; of most runs none."""
    path = run.path / PUBLISHED_FILE
    return list(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else []


def outcome_words(tables: Sequence[Published]) -> str:
    """Say in one line how far the shapes came out as published; nothing where none was judged."""
    return "; ".join(t["outcome"] for t in tables if t.get("outcome"))


def print_published(tables: Sequence[Published], console: Console, *, details: bool) -> None:
    """Print the line, and with `details` the tables."""
    outcome = outcome_words(tables)
    if outcome:
        print_paragraph(console, outcome + ("" if details else " (the tables: --details)"))
    for of in tables if details else ():
        console.print()
        print_paragraph(console, of["title"], style="bold")
        print_columns(console, [words(name) for name in of["columns"]], of["rows"])
        print_paragraph(console, of["note"], style="dim")
