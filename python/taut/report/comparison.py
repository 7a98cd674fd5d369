"""Two runs side by side, as a reader sees them: the same words in the terminal and in HTML."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from taut.analysis.compare import Comparison, Pair
from taut.analysis.difference import Difference, Shown, percent
from taut.analysis.load import load_words
from taut.analysis.pairing import AnalysedRun
from taut.report import cells
from taut.report.cells import Cell
from taut.report.conditions import conditions_of
from taut.report.table import GUTTER

COLUMNS = ("", "A", "B", "improvement", "95 % interval", "B is")
LEGEND = (
    "Improvement: (A - B) / A of service latency, so above zero B is faster. An effect is claimed "
    "only where its interval excludes zero; grey: nothing can be claimed."
)

Difference3 = tuple[str, str, str]

_CLAIMS = {Shown.FASTER: "bold green", Shown.SLOWER: "bold red"}
_EXPECTED = ("started", "seeds.", "host.uptime_s", "host.load_average", "host.memory.MemAvailable")
"""Conditions that differ between any two runs."""


def row_of(one: Difference) -> list[Cell]:
    """One figure: its name, both values, the improvement, its interval, what is claimed."""
    dim = one.shown is Shown.UNSUPPORTED
    change = cells.NOTHING if one.improvement is None else f"{percent(one.improvement)} %"
    interval = cells.NOTHING
    if one.improvement_interval is not None:
        low, high = one.improvement_interval
        interval = f"{percent(low)}..{percent(high)} %"
    values = [cells.time(side.value_ns) for side in (one.a, one.b)]
    return [
        Cell(one.name),
        *(Cell(text, dim) for text in (*values, change, interval)),
        Cell(_claim(one), dim, alert=one.shown is Shown.SLOWER),
    ]


def _claim(one: Difference) -> str:
    if one.shown is not Shown.UNSUPPORTED:
        return str(one.shown)
    least = min((side.n_above for side in (one.a, one.b) if side.n_above is not None), default=None)
    return "one packet" if one.name in ("min", "max") or least is None else f"n above: {least}"


def differing_conditions(a: AnalysedRun, b: AnalysedRun) -> list[Difference3]:
    """Name, value in A and in B of every condition in which the runs differ."""
    found = []
    sides = [dict(conditions_of(run.manifest(), doc["trials"])) for run, doc in (a, b)]
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        values = [side.get(name, cells.NOTHING) for side in sides]
        if values[0] != values[1] and not name.startswith(_EXPECTED):
            found.append((name, values[0], values[1]))
    return found


def print_comparison(
    comparison: Comparison,
    names: Sequence[str],
    differing: Sequence[Difference3],
    console: Console,
    report: Path | None = None,
) -> None:
    """Print verdict, a table a pair, warnings, and in what the runs differ besides."""
    console.print(Text(comparison.verdict, style="bold"))
    console.print(f"A: {names[0]}\nB: {names[1]}", soft_wrap=True, highlight=False, markup=False)
    for pair in comparison.pairs:
        console.print()
        console.print(Text(f"{pair.label} at {load_words(pair.a)}", style="bold"))
        console.print(_table(pair))
    console.print(Text(LEGEND, style="dim"))
    for warning in comparison.warnings:
        console.print(Text(f"! {warning}", style="yellow"))
    for name, in_a, in_b in differing:
        console.print(Text(f"differs: {name}: {in_a} | {in_b}", style="dim"))
    if report is not None:
        console.print(f"Report: {report}", soft_wrap=True, highlight=False, markup=False)


def _table(pair: Pair) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, GUTTER, 0, 0))
    for title in COLUMNS:
        left = title in (COLUMNS[0], COLUMNS[-1])
        table.add_column(title, justify="left" if left else "right", no_wrap=True)
    for one in pair.differences:
        *row, claim = row_of(one)
        style = _CLAIMS.get(one.shown, "dim" if one.shown is Shown.UNSUPPORTED else "")
        table.add_row(*(Text(c.text, "dim" if c.dim else "") for c in row), Text(claim.text, style))
    return table
