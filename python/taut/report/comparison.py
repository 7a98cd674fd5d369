"""Two runs side by side, as a reader sees them: the same words in the terminal and in HTML."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from taut.analysis.compare import Comparison, Pair
from taut.analysis.difference import Difference, Shown, percent
from taut.analysis.load import load_words
from taut.analysis.pairing import AnalysedRun
from taut.report import cells
from taut.report.cells import Cell
from taut.report.columns import labels, numbers, print_columns, words
from taut.report.conditions import OF_DEVICE, conditions_of
from taut.report.paragraph import INDENT, print_paragraph, print_whole

COLUMNS = ("", "A", "B", "improvement", "95 % interval", "B is")
LEGEND = (
    "A, B: medians of the repetitions, of min and max the least and the greatest. Improvement: "
    "(A - B) / A of service latency, so above zero B is faster, with its interval over the "
    "repetitions; A - B is their Hodges-Lehmann estimate where there is an interval. A claim is "
    "corrected for all figures of the table; grey: nothing can be claimed. A and B were not taken "
    "in turn: what the machine did differently between them is in the difference, too."
)
WITHOUT_VOID = "Packets that the generator itself held up are left out (--without-void)."

ConditionOfBoth = tuple[str, str, str]
"""A condition in which two runs differ: its name, its value in A, its value in B."""

_GREY = (Shown.UNSUPPORTED, Shown.TOO_FEW_RUNS, Shown.LOSSES, Shown.BROKEN)
_CLAIMS = {Shown.FASTER: "bold green", Shown.SLOWER: "bold red"}
_EXPECTED = ("started", "seeds.", "host.uptime_s", "host.load_average", "host.memory.MemAvailable")
"""Conditions that differ between any two runs."""


def legend(text: str, *, without_void: bool) -> str:
    """Add to a legend that packets are left out, where they are."""
    return f"{text} {WITHOUT_VOID}" if without_void else text


def row_of(difference: Difference) -> list[Cell]:
    """One figure: its name, both values, the improvement, its interval, what is claimed."""
    dim = difference.shown in _GREY
    change = (
        cells.NOTHING if difference.improvement is None else f"{percent(difference.improvement)} %"
    )
    interval = cells.NOTHING
    if difference.improvement_interval is not None:
        low, high = difference.improvement_interval
        interval = f"{percent(low)}..{percent(high)} %"
    values = [cells.time(side.value_ns) for side in (difference.a, difference.b)]
    return [
        Cell(difference.name),
        *(Cell(text, dim) for text in (*values, change, interval)),
        Cell(_claim(difference), dim, alert=difference.shown is Shown.SLOWER),
    ]


def _claim(difference: Difference) -> str:
    if difference.shown is not Shown.UNSUPPORTED:
        return str(difference.shown)
    if difference.name in ("min", "max"):
        return "one packet"
    least = min(
        (side.n_above for side in (difference.a, difference.b) if side.n_above is not None),
        default=None,
    )
    return str(difference.shown) if least is None else f"n above: {least}"


def differing_conditions(a: AnalysedRun, b: AnalysedRun) -> list[ConditionOfBoth]:
    """Give every condition in which the runs differ, but for those that always do.

    Versions are of devices that both have, and of runs that note them (since December 2026).
    """
    found = []
    sides = [dict(conditions_of(run.manifest(), analysis.trials)) for run, analysis in (a, b)]
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        values = [side.get(name, cells.NOTHING) for side in sides]
        is_of_one = name.startswith(OF_DEVICE) and cells.NOTHING in values
        if values[0] != values[1] and not is_of_one and not name.startswith(_EXPECTED):
            found.append((name, values[0], values[1]))
    return found


def print_comparison(
    comparison: Comparison,
    names: Sequence[str],
    differing: Sequence[ConditionOfBoth],
    console: Console,
    report: Path | None = None,
) -> None:
    """Print verdict, a table a pair, warnings, and in what the runs differ besides."""
    print_paragraph(console, comparison.verdict, style="bold")
    for side, name in zip("AB", names, strict=True):
        print_whole(console, f"{side}: {name}")
    first, *middle, last = COLUMNS
    columns = [labels(first), *map(numbers, middle), words(last)]
    for pair in comparison.pairs:
        console.print()
        print_paragraph(console, f"{pair.label} at {load_words(pair.a.load)}", style="bold")
        print_columns(console, columns, _rows(pair))
    print_paragraph(console, legend(LEGEND, without_void=comparison.without_void), style="dim")
    for warning in comparison.warnings:
        print_paragraph(console, f"! {warning}", hanging="  ", style="yellow")
    for name, in_a, in_b in differing:
        told = f"differs: {name}: {in_a} | {in_b}"
        print_paragraph(console, told, hanging=INDENT, style="dim")
    if report is not None:
        print_whole(console, f"Report: {report}")


def _rows(pair: Pair) -> list[list[Text]]:
    rows = []
    for difference in pair.differences:
        *row, claim = row_of(difference)
        style = _CLAIMS.get(difference.shown, "dim" if difference.shown in _GREY else "")
        cells = [Text(c.text, "dim" if c.dim else "") for c in row]
        rows.append([*cells, Text(claim.text, style)])
    return rows
