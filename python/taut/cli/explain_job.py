"""What `taut explain` does with a run or a process, after its options are read."""

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console

from taut.analysis.load import share_words
from taut.api.explaining import (
    Found,
    Unexplained,
    check_over,
    choose_trials,
    explained,
    explained_run,
    noted,
)
from taut.cli.options import parse_cores
from taut.cli.timings import print_timings, timings_key
from taut.core.errors import InputError
from taut.core.units import format_ns
from taut.experiment.interrupt import interruptible
from taut.explain.export.document import as_document
from taut.explain.export.perfetto import write_perfetto
from taut.explain.tell.result import Explanation, GapTotal
from taut.explain.tell.sentences import gap_sentence
from taut.explain.window import explain_window, threads_on
from taut.host.host import Host
from taut.records.documents.json_form import plain_object
from taut.report.columns import numbers, print_columns, words
from taut.report.explained import print_notes, print_offenders, print_trial
from taut.report.explanation import Traced
from taut.report.paragraph import INDENT, print_note, print_paragraph

_STORIES = 10


def of_process(pid: int, cores: str | None, duration_ns: int) -> Iterable[Found]:
    """Trace a process for a while; give one explanation for each core it polls on."""
    threads = threads_on(Host(), pid, parse_cores(cores))
    with Console(stderr=True).status(f"tracing process {pid}"), interruptible():
        return explain_window(threads, duration_ns)


def of_trials(run: Path, pattern: str, over: str, perfetto: Path | None) -> Iterable[Found]:
    """Explain trials one at a time; with `perfetto` there is one, and it is drawn, too."""
    check_over(over)
    if perfetto is not None and not perfetto.absolute().parent.is_dir():
        raise InputError(f"--perfetto {perfetto}: no such folder; make it first")
    trials = choose_trials(run, pattern)
    if perfetto is not None and len(trials) > 1:
        raise InputError(f"--perfetto: of one trial, not {len(trials)}; name it with --trial")
    notes = Console(stderr=True)
    for one in explained(trials, over, notes.status):
        if perfetto is not None and isinstance(one, Explanation):
            drawn = write_perfetto(one, perfetto)
            told = f"{perfetto}: {drawn.n_packets:,} packets, {drawn.n_gaps:,} gaps, "
            told += f"{drawn.n_events:,} kernel events; open it in ui.perfetto.dev"
            print_note(notes, told)
        yield one


def print_found(run: Path, found: Iterable[Found], *, as_json: bool, details: bool) -> None:
    """Print a document or words. InputError, after that: nothing could be explained."""
    if as_json:
        nothing = _print_json(run, found)
    else:
        nothing = _print_all(Console(), found, details=details)
        print_timings(Console())
    if nothing is not None:
        raise InputError(nothing)


def _print_json(run: Path, found: Iterable[Found]) -> str | None:
    """Print one document; say why where it holds no explanation."""
    left_out: list[Unexplained] = []
    document = explained_run(run, noted(found, left_out))
    json.dump(plain_object(document) | timings_key(), sys.stdout)
    print()
    return None if document.trials else _nothing_words(left_out)


def _print_all(console: Console, found: Iterable[Found], *, details: bool) -> str | None:
    """Print who made packets late, then each trial; say why where none could be explained."""
    left_out: list[Unexplained] = []
    told: list[Unexplained | Traced | None] = []
    for trial in found:
        if isinstance(trial, Unexplained):
            left_out.append(trial)
            told.append(trial)
        elif trial.packets is None:
            _print_stalls(console, trial)
            told.append(None)
        else:
            # A document, for an explanation holds its events: hundreds of megabytes.
            told.append(Traced(trial.name, trial.heading, as_document(trial)))
    trials = [one for one in told if isinstance(one, Traced)]
    if trials:
        print_offenders([one.explanation for one in trials], console, details=details)
    for one in told:
        if isinstance(one, Unexplained):
            console.print()
            print_paragraph(console, str(one))
        elif one is not None:
            print_trial(one, console, details=details)
    if len(left_out) == len(told):
        return _nothing_words(left_out)
    if trials and not details:
        console.print()
        print_paragraph(console, "Causes, parts of the stalls, grades: --details", style="dim")
    return None


def _nothing_words(left_out: Sequence[Unexplained]) -> str:
    if len(left_out) == 1:
        return str(left_out[0])
    return f"explain: none of {len(left_out)} trials could be explained; each has its reason above"


def _print_stalls(console: Console, e: Explanation) -> None:
    console.print()
    print_paragraph(console, f"{e.name}: when it did not have its core", style="bold")
    print_columns(
        console,
        [words("cause"), *map(numbers, ("stalls", "total", "worst")), words("mostly by")],
        [
            [
                total.words,
                f"{total.n:,}",
                *map(format_ns, (total.total_ns, total.worst_ns)),
                _mostly_by(total),
            ]
            for total in e.gap_totals
        ],
    )
    for gap in e.worst_gaps[:_STORIES]:
        line = gap_sentence(gap, f"core {gap.core}")
        print_paragraph(console, f"{line[0].upper()}{line[1:]}.", hanging=INDENT)
    print_notes(as_document(e), console)


def _mostly_by(total: GapTotal) -> str:
    """The thread that took most, and how much of the time in these gaps."""
    for who, ns in total.by.items():
        return f"{who} {share_words(ns / max(total.total_ns, 1))}"
    return ""
