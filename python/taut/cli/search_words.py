"""A search on the terminal: a table for every device, latency beside it, what the goals are."""

from pathlib import Path

from rich.console import Console
from rich.text import Text

from taut.records.documents.search import SearchDocument
from taut.report.cells import Cell
from taut.report.columns import labels, numbers, print_columns, words
from taut.report.paragraph import INDENT, print_paragraph, print_whole
from taut.report.search import (
    CAUTION,
    COLUMNS,
    LATENCY_COLUMNS,
    LEGEND,
    devices_of,
    goal_words,
    inversion_words,
    latency_legend,
    latency_rows,
    limit_words,
    rows,
    subject_words,
)


def print_search(document: SearchDocument, console: Console, report: Path) -> None:
    """Print what a search found; the last line is the report's path."""
    for one in devices_of(document):
        print_paragraph(console, subject_words(one), style="bold")
        goal, *bounds, note = COLUMNS
        columns = [labels(goal), *map(numbers, bounds), words(note)]
        print_columns(console, columns, rows(one))
        print_paragraph(console, limit_words(one), style="dim")
        for line in inversion_words(one, document.goals):
            print_paragraph(console, line, hanging=INDENT)
        if one.latency:
            console.print()
            load, *figures = LATENCY_COLUMNS
            shown = [[_text(cell) for cell in row] for row in latency_rows(one)]
            print_columns(console, [labels(load), *map(numbers, figures)], shown)
            for line in latency_legend(one):
                print_paragraph(console, line, style="dim")
        console.print()
    for goal_found in document.goals:
        print_paragraph(console, goal_words(goal_found), hanging=INDENT)
    print_paragraph(console, LEGEND, style="dim")
    print_paragraph(console, CAUTION, style="dim")
    print_paragraph(console, f"By {document.method}.", style="dim")
    print_whole(console, f"Report: {report}")


def _text(cell: Cell) -> Text:
    return Text(cell.text, style="bold red" if cell.alert else "dim" if cell.dim else "")
