"""A published experiment beside what was measured, where `taut reproduce` left it in a run."""

from collections.abc import Sequence

from rich.console import Console

from taut.records.documents.published import PublishedTable, read_published_file
from taut.records.rundir import RunDirectory
from taut.report.columns import print_columns, words
from taut.report.paragraph import print_paragraph


def read_published(run: RunDirectory) -> Sequence[PublishedTable]:
    """Give the tables of published beside measured; of most runs none."""
    return read_published_file(run.path)


def outcome_words(tables: Sequence[PublishedTable]) -> str:
    """Say in one line how far the shapes came out as published; nothing where none was judged."""
    return "; ".join(t.outcome for t in tables if t.outcome)


def print_published(tables: Sequence[PublishedTable], console: Console, *, details: bool) -> None:
    """Print the line, and with `details` the tables."""
    outcome = outcome_words(tables)
    if outcome:
        print_paragraph(console, outcome + ("" if details else " (the tables: --details)"))
    for table in tables if details else ():
        console.print()
        print_paragraph(console, table.title, style="bold")
        print_columns(console, [words(name) for name in table.columns], table.rows)
        print_paragraph(console, table.note, style="dim")
