"""The latency budget in words: what each hop and link holds of a latency, for page and terminal."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from taut.analysis.load import load_words
from taut.core.units import digits_of
from taut.records.documents.budget import Budget, BudgetColumn
from taut.report import cells
from taut.report.columns import Row, numbers, print_columns, words
from taut.report.paragraph import print_paragraph
from taut.report.scene import Device, Scene

TITLE = "Latency budget"
LEGEND = (
    "Where packets were, on average, and the share of the whole: of all packets stamped at every "
    "hop, and of those nearest to a percentile. A link: sent, and not there yet when the next one "
    "looked. Waiting: there, or just coming, until it looked, which is where packets are while it "
    "is held up. A hop: from its receive call's return until its send call."
)
TOGETHER, RESIDUAL = "together", "residual"
_WHAT = "packets were"


@dataclass(frozen=True)
class Told:
    """The budget of a device under one load, in one direction."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    """A part each, then their sum, and what the packets' latency is beside it."""
    note: str


def budgets_of(scenes: Sequence[Scene]) -> list[Told]:
    """Tell the budgets of all devices that have some."""
    return [
        _told(device, budget)
        for scene in scenes
        for device in scene.devices
        for budget in device.row.budgets or ()
        if budget.columns
    ]


def print_budgets(console: Console, told: Sequence[Told]) -> None:
    """Print a table each, and once how to read them."""
    for one in told:
        console.print()
        first, *others = one.columns
        heading: Row = [Text(f"{TITLE}: {one.title}", "bold")]
        print_columns(console, [words(first), *map(numbers, others)], [heading, *one.rows])
        print_paragraph(console, one.note, style="dim")
    if told:
        print_paragraph(console, LEGEND, style="dim")


def _told(device: Device, budget: Budget) -> Told:
    columns = budget.columns
    parts = [
        [
            part.name,
            *(_cell(part.mean_ns[name], column) for name, column in columns.items()),
        ]
        for part in budget.parts
    ]
    sums = [cells.time(c.latency_ns - c.residual_ns) for c in columns.values()]
    residuals = [cells.time(round(c.residual_ns)) for c in columns.values()]
    way = f", direction {budget.direction}" if device.row.load.both else ""
    return Told(
        title=f"{device.label}, {load_words(device.row.load)}{way}",
        columns=(_WHAT, *columns),
        rows=(*parts, [TOGETHER, *sums], [RESIDUAL, *residuals]),
        note=_note(budget),
    )


def _cell(ns: float, column: BudgetColumn) -> str:
    share = 100 * ns / column.latency_ns if column.latency_ns else 0
    # As short as they are, no part is said to be nothing, or all, that is not.
    is_exact = round(share) not in (0, 100) or share in (0, 100)
    text = f"{share:.0f}" if is_exact else digits_of(share, 2, unlike=100)
    return f"{cells.time(ns)} {text:>3} %"


def _note(budget: Budget) -> str:
    """Say of how many packets it is, and where the lost ones stayed."""
    stamped = "every packet" if budget.every == 1 else f"1 packet in {budget.every}"
    said = [f"{stamped} stamped, {cells.count(budget.n)} with all stamps"]
    if budget.without_all_stamps:
        said.append(f"{cells.count(budget.without_all_stamps)} without some")
    said += [f"{cells.count(n)} lost: {name}" for name, n in budget.lost.items()]
    return f"{'; '.join(said)}."
