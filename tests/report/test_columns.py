"""A table where it fits, a paragraph a row where not; no number and no word is ever cut."""

import io

from rich.console import Console
from rich.text import Text

from taut.report.columns import labels, numbers, print_columns, words

COLUMNS = [labels("device"), numbers("time\ntaken"), words("what helps")]
ROWS = [
    [Text("100 kpkt/s", "bold")],
    ["eager", "1.5 µs", "isolate the cores it polls on"],
    ["buffered", Text("100 µs", "red")],
]


def printed(width: int, *, terminal: bool = False, indent: str = "") -> list[str]:
    out = io.StringIO()
    colours = "truecolor" if terminal else "auto"
    console = Console(file=out, width=width, force_terminal=terminal or None, color_system=colours)
    print_columns(console, COLUMNS, ROWS, indent)
    return out.getvalue().splitlines()


def test_what_fits_is_a_table_with_numbers_on_the_right() -> None:
    assert printed(80) == [
        "device      time  what helps",
        "           taken",
        "100 kpkt/s",
        "eager     1.5 µs  isolate the cores it polls on",
        "buffered  100 µs",
    ]


def test_words_take_more_lines_before_anything_else_gives_way() -> None:
    assert printed(36, indent="  ")[3:6] == [
        "  eager     1.5 µs  isolate the",
        "                    cores it polls",
        "                    on",
    ]


def test_what_does_not_fit_is_a_paragraph_a_row() -> None:
    assert printed(25) == [
        "100 kpkt/s",
        "eager: time taken 1.5 µs,",
        "    what helps isolate",
        "    the cores it polls on",
        "buffered: time taken",
        "    100 µs",
    ]


def test_a_cell_keeps_its_style_on_a_terminal() -> None:
    assert any("\x1b[31m100 µs" in line for line in printed(80, terminal=True))
    assert not any("\x1b" in line for line in printed(80))
