"""The result in the terminal: verdict, one table with the floor first, what to beware of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from taut.analysis.load import frame_words, loads_in_order, rate_words
from taut.analysis.statistics import SUPPORT
from taut.records.rundir import RunDirectory
from taut.report import cells
from taut.report.captures import (
    CONTENT_COLUMNS,
    captures_of,
    clock_words,
    content_rows,
    content_words,
    is_capture,
)
from taut.report.cells import Cell
from taut.report.scene import Device, make_scenes

GUTTER = 2

_DETAILED = ("rate", "two bands")
"""Warnings that say something else of each device."""


@dataclass(frozen=True)
class Column:
    """A column of the table; the highest `rank` goes first where the terminal is narrow."""

    title: str
    cell: Callable[[Device], Cell]
    rank: int = 0


COLUMNS: tuple[Column, ...] = (
    Column("device", lambda d: Cell(d.label)),
    Column("packets", lambda d: Cell(cells.count(d.row["latency_ns"]["n"])), rank=3),
    Column("lost", lambda d: cells.lost(d.row)),
    Column("p50", lambda d: cells.percentile(d.row, "p50")),
    Column("p99", lambda d: cells.percentile(d.row, "p99")),
    Column("p99.9", lambda d: cells.percentile(d.row, "p99.9"), rank=1),
    Column("p99.99", lambda d: cells.percentile(d.row, "p99.99"), rank=4),
    Column("max", lambda d: Cell(cells.time(d.row["latency_ns"]["max"]))),
    Column("void", lambda d: cells.void(d.row), rank=2),
    Column("p99.9 no void", lambda d: cells.without_void(d.row), rank=5),
)


def print_results(
    runs: Sequence[tuple[RunDirectory, Mapping[str, Any]]],
    console: Console,
    report: Path | None = None,
) -> None:
    """Print verdict, table and warnings of analysed runs; the report's path is the last line."""
    for _, document in runs:
        console.print(Text(document["verdict"], style="bold"))
    variants = [row for _, document in runs for row in document["variants"]]
    scenes = make_scenes(runs, loads_in_order(variants))
    devices = [device for scene in scenes for device in scene.devices]
    if devices:
        columns = _fitting(devices, console.width, _columns_for(devices))
        console.print()
        console.print(_table([list(scene.devices) for scene in scenes], columns))
        for line in _legend(devices, columns):
            console.print(line)
    for trial in (t for _, document in runs for t in captures_of(document["trials"])):
        console.print(Text(f"{clock_words(trial)}."))
        console.print(Text(f"{content_words(trial)}."))
        _print_content(trial, console)
    for warning in _warnings(devices, runs):
        console.print(Text(f"! {warning}", style="yellow"))
    if report is not None:
        # soft_wrap: a path cut in two cannot be opened.
        console.print(f"Report: {report}", soft_wrap=True, highlight=False, markup=False)


def _print_content(trial: Mapping[str, Any], console: Console) -> None:
    for row in content_rows(trial):
        said = dict(zip(CONTENT_COLUMNS, row, strict=True))
        console.print(
            Text(
                f"  {said['packets']} packets with {said['field']} = {said['value']} are "
                f"{said['is']} by {said['by (95 %)']}: {said['first packets']}",
                style="yellow",
            )
        )


def _table(groups: Sequence[Sequence[Device]], columns: Sequence[Column]) -> Table:
    """One block a load, the load above it."""
    padding = (0, GUTTER, 0, 0)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=padding)
    for column in columns:
        left = column is columns[0]
        table.add_column(column.title, justify="left" if left else "right", no_wrap=True)
    for group in groups:
        table.add_row(Text(_load(group[0].row), style="bold"))
        for device in group:
            table.add_row(*(_text(column.cell(device), device) for column in columns))
    return table


def _columns_for(devices: Sequence[Device]) -> list[Column]:
    """Captures have no generator that could have been held up."""
    captured = all(is_capture(device.row) for device in devices)
    return [column for column in COLUMNS if not (captured and "void" in column.title)]


def _fitting(devices: Sequence[Device], width: int, wanted: Sequence[Column]) -> list[Column]:
    """Leave out columns, the least needed first, until the table fits."""
    columns = list(wanted)
    widths = {
        column.title: max(len(column.title), *(len(column.cell(d).text) for d in devices))
        for column in columns
    }
    widths["device"] = max(widths["device"], *(len(_load(d.row)) for d in devices))
    while sum(widths[column.title] + GUTTER for column in columns) > width + GUTTER:
        least = max(columns, key=lambda column: column.rank)
        if least.rank == 0:
            break
        columns.remove(least)
    return columns


def _text(cell: Cell, device: Device) -> Text:
    style = "bold red" if cell.alert else "dim" if cell.dim or device.is_floor else ""
    return Text(cell.text, style=style)


def _load(row: Mapping[str, Any]) -> str:
    words = f"{rate_words(row['asked_pps'])} {frame_words(row['frame'])}"
    return f"{words} both" if row["both"] else words


_GENERATED = (
    "Service latency (received - sent), every packet, repetitions pooled, warm-up left out. "
    "void: the generator itself was held up."
)
_CAPTURED = (
    "Latency (egress time stamp - ingress time stamp), every matched packet, warm-up left out."
)


def _legend(devices: Sequence[Device], columns: Sequence[Column]) -> list[Text]:
    captured = all(is_capture(device.row) for device in devices)
    lines = [_CAPTURED if captured else _GENERATED]
    if any(column.cell(device).dim for device in devices for column in columns):
        lines.append(
            f"{cells.UNSUPPORTED_MARK} fewer than {SUPPORT} packets above it: luck, not the device."
        )
    left_out = [c.title for c in _columns_for(devices) if c not in columns]
    if left_out:
        lines.append(f"No room here for {', '.join(left_out)}: the report has them.")
    return [Text(line, style="dim") for line in lines]


def _warnings(
    devices: Sequence[Device], runs: Sequence[tuple[RunDirectory, Mapping[str, Any]]]
) -> list[str]:
    """One line a kind of warning, with all it is true of."""
    concerned: dict[str, dict[str, list[str]]] = {}
    for device in devices:
        for flag in cells.flags(device.row):
            kind, _, detail = flag.partition(": ")
            who = f"{device.label} ({detail})" if kind in _DETAILED else device.label
            loads = concerned.setdefault(kind if kind in _DETAILED else flag, {})
            loads.setdefault(_load(device.row), []).append(who)
    found = [
        f"{kind}: " + "; ".join(f"{load}: {', '.join(who)}" for load, who in loads.items())
        for kind, loads in concerned.items()
    ]
    for _, document in runs:
        for trial in document["trials"]:
            if trial.get("capture"):
                found += trial["warnings"]
            if trial["status"] != "whole":
                reason = (trial["failure"] or {}).get("reason", "no reason recorded")
                found.append(f"{trial['name']} failed: {reason}")
    return found
