"""What neighbours, places and states of the host change, as a table: a sentence is too short."""

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.text import Text

from taut.analysis.load import load_words
from taut.analysis.pairing import AnalysedRun
from taut.analysis.states import Effect, effects_of
from taut.report import cells
from taut.report.columns import Row, numbers, print_columns, words
from taut.report.paragraph import print_paragraph
from taut.report.run_names import run_names

TITLE = "What each changes"
COLUMNS = ("beside", "figure", "was", "is", "shown")
WORDS = ("beside", "shown")
LEGEND = (
    "Medians over the runs, without packets for which the generator was late. An interval is of "
    "the ratio, run by run where they took turns, and all rows of a run are judged as one table."
)


def tables_of(runs: Sequence[AnalysedRun]) -> list[tuple[str, list[list[str]]]]:
    """Give a table for each device under a load: its title and rows; none where one line does.

    Each run is judged by itself: of several, its name stands in the title.
    """
    tables = []
    for (_, analysis), name in zip(runs, run_names(runs), strict=True):
        run = f"{name}, " if len(runs) > 1 else ""
        ordered = sorted(effects_of(analysis.trials), key=_title)
        for title, of in groupby(ordered, key=_title):
            tables.append((f"{run}{title}", [_row(one) for one in of]))
    return tables


def print_effects(console: Console, runs: Sequence[AnalysedRun]) -> None:
    """Print a table for each device under a load, and once how to read them."""
    tables = tables_of(runs)
    for title, rows in tables:
        console.print()
        heading: Row = [Text(f"{TITLE}: {title}", "bold")]
        columns = [words(c) if c in WORDS else numbers(c) for c in COLUMNS]
        print_columns(console, columns, [heading, *rows])
    if tables:
        print_paragraph(console, LEGEND, style="dim")


def _title(effect: Effect) -> str:
    return f"{effect.device}, {load_words(effect.load)}"


def _row(effect: Effect) -> list[str]:
    was, is_now = (cells.time(ns) for ns in (effect.old_ns, effect.new_ns))
    return [effect.change, effect.figure, was, is_now, effect.said]
