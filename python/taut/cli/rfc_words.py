"""A recipe on the terminal: verdicts, the RFC's tables, what they are known not to tell."""

from pathlib import Path

from rich.console import Console

from taut.records.documents.rfc import RfcDocument
from taut.report.columns import labels, numbers, print_columns, words
from taut.report.paragraph import INDENT, print_paragraph, print_whole
from taut.report.rfc import (
    by_device,
    cautions,
    foot,
    headline,
    shortened_words,
    statements_of,
    tables_of,
)


def print_rfc(document: RfcDocument, console: Console, report: Path) -> None:
    """Print what a recipe found; the last line is the report's path."""
    print_paragraph(console, headline(document), style="bold")
    if document.shortened:
        print_paragraph(console, shortened_words(document), style="yellow")
    for name, rows in by_device(document).items():
        console.print()
        print_paragraph(console, name, style="bold")
        for table in tables_of(document, rows):
            console.print()
            print_paragraph(console, table.title, style="bold")
            first, *others = table.columns
            columns = [words(of) if of == "note" else numbers(of) for of in others]
            print_columns(console, [labels(first), *columns], table.rows)
            print_paragraph(console, table.note, style="dim")
        statements = statements_of(rows)
        if statements:
            console.print()
        for statement in statements:
            print_paragraph(console, statement, hanging=INDENT)
    console.print()
    for caution in cautions(document):
        print_paragraph(console, caution, style="dim")
    print_paragraph(console, foot(document), hanging=INDENT, style="dim")
    print_whole(console, f"Report: {report}")
