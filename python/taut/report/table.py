"""The result in the terminal: verdict, one table with the floor first, what to beware of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from taut.analysis.load import frame_words, loads_in_order, rate_words
from taut.analysis.pairing import AnalysedRun
from taut.core.percentiles import PERCENTILES
from taut.records.documents.load import Load
from taut.records.documents.results import DirectionOfVariant
from taut.report import cells
from taut.report.budget import budgets_of, print_budgets
from taut.report.captures import (
    CONTENT_COLUMNS,
    Captured,
    captures_of,
    clock_words,
    content_rows,
    content_words,
    open_words,
    position_words,
)
from taut.report.cells import Cell
from taut.report.columns import GUTTER, least_of_words, numbers, print_columns, words
from taut.report.effects import print_effects
from taut.report.energy import energy_words, packages_w
from taut.report.neighbours import print_neighbours
from taut.report.paragraph import print_paragraph, print_whole
from taut.report.published import print_published, read_published
from taut.report.run_warnings import Warned, folded, lines_of, warnings_of
from taut.report.scene import Device, make_scenes


@dataclass(frozen=True)
class Column:
    """A column of the table; the highest `rank` goes first where the terminal is narrow."""

    title: str
    cell: Callable[[Device], Cell]
    rank: int = 0
    is_of_generator: bool = False
    """Whether it is about the generator, which captures do not have."""

    @property
    def width(self) -> int:
        """The width of the title's longest line, in characters."""
        return max(map(len, self.title.splitlines()))


COLUMNS: tuple[Column, ...] = (
    Column("device", lambda d: Cell(d.label)),
    Column("packets", lambda d: Cell(cells.count(d.row.latency.n)), rank=3),
    Column("lost", lambda d: cells.lost(d.row)),
    Column("p50", lambda d: cells.percentile(d.row, "p50")),
    Column("p99", lambda d: cells.percentile(d.row, "p99")),
    Column("p99.9", lambda d: cells.percentile(d.row, "p99.9"), rank=1),
    Column("p99.99", lambda d: cells.percentile(d.row, "p99.99"), rank=4),
    Column("max", lambda d: Cell(cells.time(d.row.latency.max_ns))),
    Column("generator\nlate", lambda d: cells.void(d.row), rank=2, is_of_generator=True),
    Column("p99.9\non time", lambda d: cells.without_void(d.row), rank=5, is_of_generator=True),
)

_OF_THE_TAIL = 2
"""The highest rank of columns without which a reader may take a tail for better than it is."""


def print_results(
    runs: Sequence[AnalysedRun],
    console: Console,
    report: Path | None = None,
    *,
    details: bool = False,
) -> None:
    """Print verdict, table and warnings of analysed runs; the report's path is the last line.

    What is behind a fold in the report is printed with `details`.
    """
    for _, analysis in runs:
        print_paragraph(console, analysis.verdict, style="bold")
    variants = [row for _, analysis in runs for row in analysis.variants]
    scenes = make_scenes(runs, loads_in_order(variants))
    devices = [device for scene in scenes for device in scene.devices]
    if devices:
        columns = _fitting(devices, console.width, _columns_for(devices))
        console.print()
        _print_table([list(scene.devices) for scene in scenes], columns, console)
        for line in [*_legend(devices, columns), *(_notes(devices, columns) if details else [])]:
            print_paragraph(console, line, style="dim")
        print_effects(console, runs)
        if details:
            print_neighbours(console, runs)
        print_budgets(console, budgets_of(scenes))
    for pair in captures_of(runs):
        print_paragraph(console, f"{clock_words(pair)}.")
        print_paragraph(console, f"{content_words(pair)}.")
        _print_content(pair, console)
        for warning in [*open_words(pair), *position_words(pair)]:
            print_paragraph(console, f"{warning}.", "  ", style="yellow")
    _print_warnings(warnings_of(devices, runs), console, details=details)
    for run, _ in runs:
        print_published(read_published(run), console, details=details)
    if report is not None:
        print_whole(console, f"Report: {report}")


def _print_content(pair: Captured, console: Console) -> None:
    for row in content_rows(pair):
        said = dict(zip(CONTENT_COLUMNS, row, strict=True))
        print_paragraph(
            console,
            f"{said['packets']} packets with {said['field']} = {said['value']} are "
            f"{said['is']} by {said['by (95 %)']}: {said['first packets']}; "
            f"share of the tail: {said['share of its tail']}",
            "  ",
            style="yellow",
        )


def _print_warnings(found: Sequence[Warned], console: Console, *, details: bool) -> None:
    for line in lines_of(found):
        print_paragraph(console, f"! {line}", hanging="  ", style="yellow")
    more = folded(found)
    for line in more if details else []:
        print_paragraph(console, line, "  ", style="yellow")
    if more and not details:
        things = "1 more thing" if len(more) == 1 else f"{len(more)} more things"
        print_paragraph(console, f"{things} to know: --details", style="dim")


def _print_table(
    groups: Sequence[Sequence[Device]], columns: Sequence[Column], console: Console
) -> None:
    """Print a block for each load below its name; labels take two lines where space is short."""
    first, *rest = (column.title for column in columns)
    rows: list[list[Text]] = []
    for group in groups:
        rows.append([Text(_load(group[0].row.load), "bold")])
        for device in group:
            rows.append([_text(column.cell(device), device) for column in columns])
            rows += _below(device, columns)
    print_columns(console, [words(first), *map(numbers, rest)], rows)


def _below(device: Device, columns: Sequence[Column]) -> list[list[Text]]:
    """Give the rows below a device's own: each direction of two, a warm-up with losses."""
    rows = [_direction(device, way, columns) for way in device.row.directions or ()]
    return [*rows, _warm_up(device, columns)] if cells.has_losses(device.row.warm_up) else rows


def _direction(device: Device, way: DirectionOfVariant, columns: Sequence[Column]) -> list[Text]:
    """What went one way: it is in the device's own row, too."""
    told = {
        "device": Cell(f"  direction {way.direction}"),
        "packets": Cell(cells.count(way.latency.n)),
        "lost": cells.lost(way),
        **{name: cells.percentile(way, name) for name in PERCENTILES},
        "max": Cell(cells.time(way.latency.max_ns)),
    }
    return [_text(told.get(column.title, Cell("")), device) for column in columns]


def _warm_up(device: Device, columns: Sequence[Column]) -> list[Text]:
    """What the warm-up lost: nothing of it is in the device's own row."""
    row = device.row.warm_up
    told = {
        "device": "  its warm-up",
        "packets": cells.count(row.latency.n),
        "lost": cells.lost(row).text,
        "p50": cells.percentile(row, "p50").text,
        "p99": cells.percentile(row, "p99").text,
        "max": cells.time(row.latency.max_ns),
    }
    return [Text(told.get(column.title, ""), style="dim") for column in columns]


def _columns_for(devices: Sequence[Device]) -> list[Column]:
    captured = all(device.row.device.is_capture for device in devices)
    return [column for column in COLUMNS if not (captured and column.is_of_generator)]


def _fitting(devices: Sequence[Device], width: int, wanted: Sequence[Column]) -> list[Column]:
    """Leave out columns, the least needed first, until the table fits.

    Names are wrapped before the tail goes. Where no table fits each row is a paragraph, with all.
    """
    columns = list(wanted)
    texts = {c.title: [t for d in devices for t in _texts(c, d)] for c in columns}
    widths = {c.title: max(c.width, *map(len, texts[c.title])) for c in columns}
    names = columns[0].title
    least = least_of_words([names, *texts[names]])
    while columns:
        last = max(columns, key=lambda column: column.rank)
        if last.rank <= _OF_THE_TAIL:
            widths[names] = least
        if sum(widths[column.title] + GUTTER for column in columns) <= width + GUTTER:
            return columns
        if last.rank == 0:
            break
        columns.remove(last)
    return list(wanted)


def _texts(column: Column, device: Device) -> list[str]:
    """What stands in a column of a device: in its own row and those below it."""
    return [column.cell(device).text, *(row[0].plain for row in _below(device, [column]))]


def _text(cell: Cell, device: Device) -> Text:
    style = "bold red" if cell.alert else "dim" if cell.dim or device.is_floor else ""
    return Text(cell.text, style=style)


def _load(load: Load) -> str:
    words = f"{rate_words(load.asked_pps)} {frame_words(load.frame)}"
    return f"{words} both" if load.both else words


_GENERATED = (
    "Service latency (received - sent) of every packet{n}, repetitions pooled, warm-up left out. "
    "Generator late: it was itself held up while it sent or received them."
)
_CAPTURED = (
    "Latency (egress time stamp - ingress time stamp) of every matched packet{n}, warm-up left out."
)


def _legend(devices: Sequence[Device], columns: Sequence[Column]) -> list[str]:
    captured = all(device.row.device.is_capture for device in devices)
    lines = [(_CAPTURED if captured else _GENERATED).format(n=_n_packets(devices, columns))]
    told = [text for device in devices for column in columns for text in _texts(column, device)]
    if any(text.endswith(cells.UNSUPPORTED_MARK) for text in told):
        lines.append(f"{cells.UNSUPPORTED_MARK} {cells.UNSUPPORTED}.")
    if any(device.row.doubt.blocks is None for device in devices):
        lines.append(
            "Recorded without every packet: intervals take packets as independent, which those of "
            "one stall are not. They are too narrow."
        )
    left_out = [" ".join(c.title.split()) for c in _columns_for(devices) if c not in columns]
    if left_out:
        lines.append(f"No room here for {', '.join(left_out)}: the report has them.")
    return lines


def _n_packets(devices: Sequence[Device], columns: Sequence[Column]) -> str:
    """Say of how many packets the rows are, where the column has no room."""
    if any(column.title == "packets" for column in columns):
        return ""
    counts = [device.row.latency.n for device in devices]
    least, most = cells.count(min(counts)), cells.count(max(counts))
    return f" ({least} a row)" if least == most else f" ({least} to {most} a row)"


def _notes(devices: Sequence[Device], columns: Sequence[Column]) -> list[str]:
    """Give what is behind the fold: what is known of starred numbers, what can hide, the power."""
    return [*_known(devices, columns), *_granted(devices), *_energy(devices)]


def _granted(devices: Sequence[Device]) -> list[str]:
    """Say which stalls may not be seen: ports are granted time for each packet they handle."""
    longest: dict[str, int] = {}
    for row in (device.row for device in devices):
        if row.granted_ns is not None:
            link = str(row.device.link)
            longest[link] = max(longest.get(link, 0), row.granted_ns)
    if not longest:
        return []
    told = ", ".join(f"{cells.time(ns)} over {link}" for link, ns in longest.items())
    return [f"A stall of the generator shorter than this may pass as its ports' work: {told}."]


def _known(devices: Sequence[Device], columns: Sequence[Column]) -> list[str]:
    """Say of each percentile shown what it is at least, where that is all that is known."""
    found = []
    for name in (column.title for column in columns if column.title in PERCENTILES):
        by_load: dict[str, list[str]] = {}
        for device in devices:
            low, high = device.row.doubt.confidence_intervals[name]
            if low is not None and high is None:
                said = f"{device.label} {cells.time(low)}"
                by_load.setdefault(_load(device.row.load), []).append(said)
        if by_load:
            found.append(f"{name} is at least (95 %): {_each(by_load)}")
    return found


def _each(by_load: Mapping[str, Sequence[str]]) -> str:
    """Write what is said of the devices of each load; one load needs no name."""
    return "; ".join(
        f"{load}: {', '.join(who)}" if len(by_load) > 1 else ", ".join(who)
        for load, who in by_load.items()
    )


def _energy(devices: Sequence[Device]) -> list[str]:
    """Say what power each row's trials took, or why nobody knows."""
    by_load: dict[str, list[str]] = {}
    for device in devices:
        if (power_w := packages_w(device)) is not None:
            said = f"{device.label} {power_w:.1f} W"
            by_load.setdefault(_load(device.row.load), []).append(said)
    words = energy_words(trial for device in devices for trial in device.trials)
    return [f"Energy: {words}{': ' if by_load else ''}{_each(by_load)}."] if words else []
