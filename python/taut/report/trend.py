"""Many runs in the order of their time, as a reader sees them: the words of terminal and page."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from rich.console import Console

from taut.analysis.difference import percent
from taut.analysis.pairing import AnalysedRun
from taut.analysis.steps import LEAST_RUNS
from taut.analysis.trend import FIGURES, JUDGED, Trend, changing, known_medians, title
from taut.records.documents.trend import ConditionChanged, RunOfTrend, SeriesOfTrend, TrendDocument
from taut.report import cells
from taut.report.columns import labels, numbers, print_columns, words
from taut.report.comparison import differing_conditions, legend
from taut.report.paragraph import INDENT, print_paragraph, print_whole

COLUMNS = ("run", *FIGURES, "step")
LEGEND = (
    "Each number is the median over the repetitions of a run. Steps are looked for in the "
    "logarithm of the p50 of each device by itself: about one unchanged series in a hundred shows "
    "one, three where single runs spike, more where the machine drifts. A step is suspected until "
    "it is found without the newest run, too. What changed with a run is not thereby its cause."
)


@dataclass(frozen=True)
class Changes:
    """What changed between runs."""

    runs: Sequence[RunOfTrend]
    always: Sequence[str]
    """Names of conditions that change so often that no run is told by them."""


def changes_of(runs: Sequence[AnalysedRun], names: Sequence[str]) -> Changes:
    """Hold each run's conditions against those of the run before."""
    differing = [differing_conditions(*pair) for pair in pairwise(runs)]
    always = changing(Counter(name for found in differing for name, *_ in found), len(runs))
    told = [
        RunOfTrend(
            name=name,
            run=str(run.path),
            started_utc=run.manifest().started_utc,
            changed=tuple(ConditionChanged(*one) for one in found if one[0] not in always),
        )
        for (run, _), name, found in zip(runs, names, [[], *differing], strict=True)
    ]
    return Changes(told, always)


def document(trend: Trend, changes: Changes, report: Path | None) -> TrendDocument:
    """Give what `taut trend --json` prints."""
    return TrendDocument(
        verdict=trend.verdict,
        runs=tuple(changes.runs),
        series=tuple(trend.series),
        always_changing=tuple(changes.always),
        warnings=tuple(trend.warnings),
        report=None if report is None else str(report),
        without_void=trend.without_void,
    )


def rows_of(
    series: SeriesOfTrend, names: Sequence[str], time: Callable[[float | None], str]
) -> list[list[str]]:
    """Give a row a run: its figures, and the step that begins with it."""
    steps = {
        step.at: f"{percent(step.change)} %, {'confirmed' if step.is_confirmed else 'suspected'}"
        for step in series.steps
    }
    return [
        [name, *(time(series.figures_ns[figure][at]) for figure in FIGURES), steps.get(at, "")]
        for at, name in enumerate(names)
    ]


def spread_words(series: SeriesOfTrend) -> str:
    """Say how much runs differ without any step; a step much smaller is not seen."""
    if series.spread is None:
        return f"Fewer than {LEAST_RUNS} medians: not searched for steps."
    return f"From run to run medians differ by {100 * series.spread:.2g} % (one sigma)."


def csit_words(series: SeriesOfTrend, names: Sequence[str]) -> str:
    """Say how jumpavg divides the series; empty where it was not asked."""
    if not series.jumpavg:
        return ""
    known = [names[at] for at in known_medians(series.figures_ns[JUDGED])]
    groups = [f"{cells.time(group.mean_ns)} from {known[group.at]}" for group in series.jumpavg]
    return f"CSIT's jumpavg: {', '.join(groups)}."


def always_words(changes: Changes) -> str:
    """Name the conditions that no run is told by."""
    left_out = f"; left out is what changes all the time: {', '.join(changes.always)}"
    return f"What changed: each run beside the one before it{left_out if changes.always else ''}."


def changes_by_run(changes: Changes) -> list[tuple[str, Sequence[ConditionChanged]]]:
    """Give the runs with which something changed."""
    return [(run.name, run.changed) for run in changes.runs if run.changed]


def change_words(change: ConditionChanged) -> str:
    """Say what a condition was and is."""
    return f"{change.name}: {change.before} → {change.after}"


def print_trend(
    trend: Trend, changes: Changes, console: Console, report: Path | None = None
) -> None:
    """Print the verdict, what changed where a median stepped, and a table a series."""
    print_paragraph(console, trend.verdict, style="bold")
    stepped = {step.run for series in trend.series for step in series.steps}
    _print_changes(changes, stepped, console)
    first, *middle, last = COLUMNS
    columns = [labels(first), *map(numbers, middle), words(last)]
    for series in trend.series:
        console.print()
        print_paragraph(console, title(series), style="bold")
        print_columns(console, columns, rows_of(series, trend.names, cells.time))
        told = f"{spread_words(series)} {csit_words(series, trend.names)}"
        print_paragraph(console, told, style="dim")
    print_paragraph(console, legend(LEGEND, without_void=trend.without_void), style="dim")
    print_paragraph(console, always_words(changes), style="dim")
    for warning in trend.warnings:
        print_paragraph(console, f"! {warning}", hanging="  ", style="yellow")
    others = {run.name for run in changes.runs} - stepped
    _print_changes(changes, others, console, style="dim")
    if report is not None:
        print_whole(console, f"Report: {report}")


def _print_changes(
    changes: Changes, names: Collection[str], console: Console, style: str = ""
) -> None:
    for name, changed in changes_by_run(changes):
        for change in changed if name in names else ():
            told = f"changed with {name}: {change_words(change)}"
            print_paragraph(console, told, hanging=INDENT, style=style)
