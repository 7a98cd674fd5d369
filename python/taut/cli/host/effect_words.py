"""An effect on the terminal: one sentence a set, then the figures, then what was turned."""

from pathlib import Path

from rich.console import Console
from rich.text import Text

from taut.analysis.load import share_words
from taut.analysis.paired import factor, interval_words
from taut.core.units import digits_of, format_ns
from taut.records.documents.effect import EffectDocument, FigureOfEffect, SetOfEffect
from taut.report import cells
from taut.report.columns import labels, numbers, print_columns, words
from taut.report.paragraph import INDENT, print_paragraph, print_whole
from taut.trim.effect import Scale

_STYLES = {"less": "bold green", "more": "bold red"}


def print_effect(document: EffectDocument, console: Console, report: Path) -> None:
    """Print what was found; the report's path is the last line."""
    for one in document.sets:
        print_paragraph(console, one.sentence, style="bold")
    console.print()
    _print_table(document, console)
    print_paragraph(console, _caption(document), style="dim")
    for note in document.notes:
        print_paragraph(console, note)
    for one in document.sets:
        _print_knobs(one, console)
    print_paragraph(console, "The host is as it was.")
    print_whole(console, f"Report: {report}")


def _print_table(document: EffectDocument, console: Console) -> None:
    interval = f"{100 * document.confidence:.0f} % interval"
    titles = ("off", "on", "on / off", interval)
    rows: list[list[Text | str]] = []
    for one in document.sets:
        if len(document.sets) > 1:
            rows.append([Text(one.name, "italic")])
        rows += [_row(figure) for figure in one.figures]
        lost, late = one.lost, one.void_share
        rows.append(["lost packets", cells.count(lost.off), cells.count(lost.on)])
        rows.append(["generator late", share_words(late.off), share_words(late.on)])
    print_columns(console, [labels(""), *map(numbers, titles), words("shown")], rows)


def _row(figure: FigureOfEffect) -> list[Text | str]:
    name, effect, shown = figure.name, figure.effect, figure.shown
    is_ratio = figure.scale == Scale.RATIO
    off, on = ((cells.time if is_ratio else _percent)(value) for value in (figure.off, figure.on))
    number = factor if is_ratio else _points
    if effect is None:
        estimate = interval = cells.NOTHING
    else:
        estimate = number(effect.estimate)
        interval = interval_words(effect.low, effect.high, number)
    label = name if is_ratio else f"{name}, on - off"
    return [label, off, on, estimate, interval, Text(shown, style=_STYLES.get(shown, ""))]


def _percent(share: float | None) -> str:
    return cells.NOTHING if share is None else f"{_points(share)} %"


def _points(share: float) -> str:
    """A share in percent, or a difference of two in points."""
    # What is left of sums that cancel out is 0, and 0 has no sign.
    return digits_of(round(100 * share, 7) or 0.0)


def _caption(document: EffectDocument) -> str:
    per_run = document.duration_ns
    length = "" if per_run is None else f" of {format_ns(per_run)}"
    measured = "; ".join(document.cells)
    mean = ", geometric means over these" if len(document.cells) > 1 else ""
    method = document.method
    return (
        f"{measured}: off and on are medians of {document.repetitions} runs{length}{mean}. "
        "Percentiles: service latency of every packet that the generator was on time with, lost "
        "ones slower than any. Time stolen: share of the time in the logged gaps of the device's "
        f"thread; on - off in points. {method[0].upper()}{method[1:]}."
    )


def _print_knobs(one: SetOfEffect, console: Console) -> None:
    for knob in one.knobs:
        print_paragraph(console, f"{knob.name}  {knob.summary}", "", INDENT, style="bold")
        if knob.why:
            known = f"known: {knob.why} ({knob.source})"
            print_paragraph(console, known, INDENT, 2 * INDENT, style="dim")
