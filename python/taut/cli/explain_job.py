"""What `taut explain` does with a run or a process, after its options are read."""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
from rich.console import Console

from taut.analysis.load import share_words
from taut.analysis.trial_names import headings, trial_of
from taut.cli.options import parse_cores
from taut.cli.timings import print_timings, timings_key
from taut.core.errors import InputError
from taut.core.units import format_ns
from taut.experiment.interrupt import interruptible
from taut.explain.export.document import as_document
from taut.explain.export.perfetto import write_perfetto
from taut.explain.read.packets import parse_over
from taut.explain.tell.result import Explanation, GapTotal, Options
from taut.explain.tell.sentences import gap_sentence
from taut.explain.trial import explain_trial
from taut.explain.window import explain_window, threads_on
from taut.host.host import Host
from taut.records.documents.explanation import ExplainedRun, ExplanationDocument, NotExplained
from taut.records.documents.json_form import plain_object
from taut.records.rundir import RunDirectory, TrialDirectory
from taut.report.columns import numbers, print_columns, words
from taut.report.explained import print_notes, print_offenders, print_trial
from taut.report.explanation import Traced
from taut.report.paragraph import INDENT, print_note, print_paragraph

_STORIES = 10


@dataclass(frozen=True)
class _NotExplained:
    """A trial of which nothing can be told."""

    trial: str
    why: str
    heading: str


Found: TypeAlias = Explanation | _NotExplained


def of_process(pid: int, cores: str | None, duration_ns: int) -> Iterable[Found]:
    """Trace a process for a while; give one explanation for each core it polls on."""
    threads = threads_on(Host(), pid, parse_cores(cores))
    with Console(stderr=True).status(f"tracing process {pid}"), interruptible():
        return explain_window(threads, duration_ns)


def of_trials(run: Path, pattern: str, over: str, perfetto: Path | None) -> Iterable[Found]:
    """One at a time: each holds its events, hundreds of megabytes in a long trial."""
    try:
        parse_over(over)
    except InputError as error:
        if over.startswith("p"):
            raise
        raise InputError(f"--over {over}: {error}; a percentile is said p99.9") from None
    options, trials = Options(over=over), _trials(run, pattern)
    if perfetto is not None and len(trials) > 1:
        raise InputError(f"--perfetto: of one trial, not {len(trials)}; name it with --trial")
    notes = Console(stderr=True)
    called = [trial.meta.name or trial.name for trial in trials]
    rows = [trial_of(name, trial.meta) for name, trial in zip(called, trials, strict=True)]
    names = headings(rows)
    for name, trial in zip(called, trials, strict=True):
        heading = names[name]
        try:
            with notes.status(f"explaining {trial.name}"):
                explanation = explain_trial(trial.path, options)
        except InputError as error:
            yield _NotExplained(name, str(error).removeprefix(f"{trial.name}: "), heading)
            continue
        except pa.ArrowException as error:
            why = f"a file of it is damaged ({str(error).splitlines()[0]})"
            yield _NotExplained(name, why, heading)
            continue
        if perfetto is not None:
            drawn = write_perfetto(explanation, perfetto)
            told = f"{perfetto}: {drawn.n_packets:,} packets, {drawn.n_gaps:,} gaps, "
            told += f"{drawn.n_events:,} kernel events; open it in ui.perfetto.dev"
            print_note(notes, told)
        yield replace(explanation, heading=heading)


def print_found(run: Path, found: Iterable[Found], *, as_json: bool, details: bool) -> None:
    """Print a document or words. InputError, after that: nothing could be explained."""
    if as_json:
        nothing = _print_json(run, found)
    else:
        nothing = _print_all(Console(), found, details=details)
        print_timings(Console())
    if nothing is not None:
        raise InputError(nothing)


def _trials(run: Path, pattern: str) -> Sequence[TrialDirectory]:
    if not run.is_dir():
        raise InputError(f"{run}: no such folder; name a run directory")
    trials = RunDirectory(run).trials()
    if not any(trial.is_whole for trial in trials):
        raise InputError(f"{run}: no whole trial; name a run directory of `taut run`")
    chosen = [trial for trial in trials if fnmatchcase(trial.name, pattern)]
    if not chosen:
        names = ", ".join(trial.name for trial in trials)
        raise InputError(f"--trial {pattern}: matches none of {names}")
    return chosen


def _print_json(run: Path, found: Iterable[Found]) -> str | None:
    """Print one document; say why where it holds no explanation."""
    trials: list[ExplanationDocument] = []
    left_out: list[_NotExplained] = []
    for one in found:
        if isinstance(one, _NotExplained):
            left_out.append(one)
        else:
            trials.append(as_document(one))
    not_explained = tuple(NotExplained(one.trial, one.why) for one in left_out)
    document = ExplainedRun(str(run), tuple(trials), not_explained)
    json.dump(plain_object(document) | timings_key(), sys.stdout)
    print()
    return None if trials else _nothing_words(left_out)


def _print_all(console: Console, found: Iterable[Found], *, details: bool) -> str | None:
    """Print who made packets late, then each trial; say why where none could be explained."""
    left_out: list[_NotExplained] = []
    told: list[_NotExplained | Traced | None] = []
    for trial in found:
        if isinstance(trial, _NotExplained):
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
        if isinstance(one, _NotExplained):
            console.print()
            print_paragraph(console, f"{one.heading}: not explained: {one.why}")
        elif one is not None:
            print_trial(one, console, details=details)
    if len(left_out) == len(told):
        return _nothing_words(left_out)
    if trials and not details:
        console.print()
        print_paragraph(console, "Causes, parts of the stalls, grades: --details", style="dim")
    return None


def _nothing_words(left_out: Sequence[_NotExplained]) -> str:
    if len(left_out) == 1:
        return f"{left_out[0].heading}: not explained: {left_out[0].why}"
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
