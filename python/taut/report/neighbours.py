"""What the neighbours of a run did, by their own counters: a row each, medians of its trials."""

from collections.abc import Iterator, Sequence
from statistics import median

from rich.console import Console

from taut.analysis.load import share_words
from taut.analysis.pairing import AnalysedRun
from taut.core.cpus import format_cpu_list
from taut.core.units import digits_of
from taut.records.documents.neighbour import NeighbourOfTrial
from taut.report.columns import numbers, print_columns, words
from taut.report.paragraph import print_paragraph

TITLE = "What the neighbours did"
COLUMNS = ("neighbour", "cores", "of a core", "trials", "its own operations a second", "written")
WORDS = ("neighbour", "its own operations a second")
LEGEND = (
    "Medians of the trials, from before the generator's start until after its end; operations as "
    "stress-ng counts them, of each stressor since its start: they compare with their own alone."
)


def rows_of(runs: Sequence[AnalysedRun]) -> list[list[str]]:
    """Give a row for each neighbour on its cores; empty where nobody was busy."""
    found: dict[tuple[str, str], list[NeighbourOfTrial]] = {}
    for run, analysis in runs:
        # Most runs have none, and their documents need not be read again.
        is_beside = any(trial.device.neighbour is not None for trial in analysis.trials)
        for trial in run.trials() if is_beside else ():
            one = trial.meta.neighbour
            if one is not None and trial.is_whole:
                found.setdefault((one.name, format_cpu_list(one.cores)), []).append(one)
    return [list(_row(name, cores, of)) for (name, cores), of in found.items()]


def print_neighbours(console: Console, runs: Sequence[AnalysedRun]) -> None:
    """Print the table and how to read it."""
    rows = rows_of(runs)
    if rows:
        console.print()
        print_paragraph(console, TITLE, style="bold")
        print_columns(console, [words(c) if c in WORDS else numbers(c) for c in COLUMNS], rows)
        print_paragraph(console, LEGEND, style="dim")


def _row(name: str, cores: str, trials: Sequence[NeighbourOfTrial]) -> Iterator[str]:
    yield name
    yield cores
    share = median(one.cpu_share for one in trials)
    # All its threads together may take several cores.
    yield share_words(share) if share <= 1 else f"{digits_of(100 * share)} %"
    yield str(len(trials))
    yield ", ".join(_rates(trials))
    written = median(one.written_bytes for one in trials)
    # What a program's own log takes is no work of a neighbour.
    yield f"{digits_of(written / 1e6)} MB" if written >= 1e6 else ""


def _rates(trials: Sequence[NeighbourOfTrial]) -> Iterator[str]:
    by_stressor: dict[str, list[float]] = {}
    for one in trials:
        for work in one.work:
            seconds = work.elapsed_ns / 1e9
            rate = work.n_operations / seconds if seconds else 0.0
            by_stressor.setdefault(work.stressor, []).append(rate)
    for stressor, rates in by_stressor.items():
        yield f"{stressor} {median(rates):,.0f}"
