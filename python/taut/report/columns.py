"""Columns in a terminal of any width: where they do not fit, each row is a paragraph.

No cell is cut and no word broken, which rich's tables do to what does not fit. Titles and cells of
words are wrapped first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from taut.core.wrap import wrap
from taut.report.paragraph import INDENT, print_paragraph, print_whole

GUTTER = 2
_LEAST_WORDS = 16
"""The least width of a column of words: a narrower one has one word on each line."""

Row = Sequence[Text | str]
"""A cell for each column; cells missing at the end are empty. A single cell is a heading."""


@dataclass(frozen=True)
class Column:
    """A column of a table, made by `numbers`, `labels` or `words`."""

    title: str
    is_left: bool = False
    wraps: bool = False


def numbers(title: str) -> Column:
    """Make a column of numbers, aligned on the right."""
    return Column(title)


def labels(title: str) -> Column:
    """Make a column of names, or of things to type, whose cells are never broken."""
    return Column(title, is_left=True)


def words(title: str) -> Column:
    """Make a column of words, which may take several lines."""
    return Column(title, is_left=True, wraps=True)


def print_columns(
    console: Console, columns: Sequence[Column], rows: Sequence[Row], indent: str = ""
) -> None:
    """Print titles, where there are any, and rows."""
    widths = _widths(columns, rows, console.width - len(indent))
    if widths is None:
        _print_paragraphs(console, columns, rows, indent)
        return
    if any(column.title for column in columns):
        titles = [Text(column.title, "bold") for column in columns]
        _print_row(console, columns, titles, widths, indent)
    for row in rows:
        if _is_heading(row, columns):
            print_paragraph(console, _plain(row[0]), indent, style=_style(row[0]))
        else:
            _print_row(console, columns, row, widths, indent)


def _widths(columns: Sequence[Column], rows: Sequence[Row], room: int) -> list[int] | None:
    """Give the width of every column; None: they do not fit."""
    widths, least = [], []
    shown = [row for row in rows if not _is_heading(row, columns)]
    for at, column in enumerate(columns):
        cells = [_plain(row[at]) for row in shown if len(row) > at]
        widths.append(max(map(len, [*column.title.splitlines(), *cells]), default=0))
        if column.wraps:
            least.append(least_of_words([column.title, *cells]))
        else:
            least.append(max(_longest_word([column.title]), *map(len, cells), 0))
    room -= GUTTER * (len(columns) - 1)
    if sum(least) > room:
        return None
    while sum(widths) > room:
        widest = max(range(len(widths)), key=lambda at: (widths[at] > least[at], widths[at]))
        widths[widest] -= 1
    return widths


def least_of_words(cells: Sequence[str]) -> int:
    """Give the least width of a column of words with these cells, its title among them."""
    return max(_longest_word(cells), min(max(map(len, cells)), _LEAST_WORDS))


def _is_heading(row: Row, columns: Sequence[Column]) -> bool:
    return len(row) == 1 < len(columns)


def _longest_word(texts: Sequence[str]) -> int:
    return max((len(line) for text in texts for line in wrap(text, 1)), default=0)


def _print_row(
    console: Console, columns: Sequence[Column], row: Row, widths: Sequence[int], indent: str
) -> None:
    cells = [_lines(cell, width) for cell, width in zip(row, widths, strict=False)]
    for at in range(max(map(len, cells))):
        line = Text(indent)
        for column, cell, lines, width in zip(columns, row, cells, widths, strict=False):
            part = lines[at] if at < len(lines) else ""
            line.append(part.ljust(width) if column.is_left else part.rjust(width), _style(cell))
            line.append(" " * GUTTER)
        line.rstrip()
        print_whole(console, line)


def _lines(cell: Text | str, width: int) -> list[str]:
    """Break a cell into lines; a cell that fits keeps its blanks."""
    return [
        line
        for part in _plain(cell).splitlines()
        for line in ([part] if len(part) <= width else wrap(part, width))
    ]


def _print_paragraphs(
    console: Console, columns: Sequence[Column], rows: Sequence[Row], indent: str
) -> None:
    """Print `eager: lost 0, p50 1.5 µs` for every row."""
    for row in rows:
        first, *rest = [" ".join(_plain(cell).split()) for cell in row]
        titles = [" ".join(column.title.split()) for column in columns[1:]]
        told = [
            f"{title} {cell}".strip() for title, cell in zip(titles, rest, strict=False) if cell
        ]
        text = ": ".join(filter(None, (first, ", ".join(told))))
        print_paragraph(console, text, indent, indent + INDENT, "" if told else _style(row[0]))


def _plain(cell: Text | str) -> str:
    return cell.plain if isinstance(cell, Text) else cell


def _style(cell: Text | str) -> str:
    return str(cell.style) if isinstance(cell, Text) else ""
