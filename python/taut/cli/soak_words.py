"""A soak on the terminal: the verdict, the whole run, its rows, trends and causes."""

from pathlib import Path

from rich.console import Console

from taut.records.documents.soak import SoakDocument
from taut.report.columns import labels, numbers, print_columns
from taut.report.paragraph import INDENT, print_paragraph, print_whole
from taut.report.soak import (
    BEYOND_TITLE,
    COLUMNS,
    LEGEND,
    beyond_words,
    causes_rows,
    chosen_words,
    course_words,
    figures_words,
    headline,
    rows,
    verdict_words,
    worst_rows,
)

WIDE = 112
LEFT_OUT = ("unsent", "p99", "p99.99")
"""Columns for which a narrower terminal has no room."""


def print_soak(
    document: SoakDocument, console: Console, report: Path | None, *, details: bool
) -> None:
    """Print what a soak found; the last line is the report's path."""
    course = document.course
    print_paragraph(console, headline(document), style="bold")
    for line in verdict_words(document):
        print_paragraph(console, line, hanging=INDENT)
    console.print()
    for line in figures_words(document):
        print_paragraph(console, line, hanging=INDENT)
    console.print()
    shown = rows(course) if details else worst_rows(course)
    kept = [i for i, name in enumerate(COLUMNS) if console.width >= WIDE or name not in LEFT_OUT]
    first, *others = [COLUMNS[i] for i in kept]
    print_columns(
        console,
        [labels(first), *map(numbers, others)],
        [[row[i] for i in kept] for row in shown],
    )
    chosen = None if details else chosen_words(course, "--details")
    if chosen is not None:
        print_paragraph(console, chosen, style="dim")
    console.print()
    for line in (*course_words(course), *document.notes):
        print_paragraph(console, line, hanging=INDENT)
    for hour, causes in causes_rows(course):
        print_paragraph(console, f"hour {hour}  {causes}", hanging=INDENT)
    if course.beyond is not None:
        console.print()
        print_paragraph(console, BEYOND_TITLE, style="bold")
        print_paragraph(console, beyond_words(course.beyond))
    print_paragraph(console, LEGEND, style="dim")
    if report is not None:
        print_whole(console, f"report: {report}")
