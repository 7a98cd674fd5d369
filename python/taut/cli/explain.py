"""`taut explain RUN`: the cause of every late packet, with evidence, and "unknown" where it is."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer
from rich.console import Console

from taut.analysis.load import share_words
from taut.analysis.trial_names import headings, trial_of
from taut.cli.details import DetailsOption
from taut.cli.explain_process import explain_process
from taut.cli.self_test import print_self_test
from taut.cli.timings import TimingsOption, print_timings, timings_key
from taut.core.cpus import cpuset_cores, parse_cpu_list
from taut.core.errors import InputError
from taut.core.timings import timed
from taut.core.units import format_ns, parse_duration_ns
from taut.explain.export.document import as_document
from taut.explain.export.perfetto import write_perfetto
from taut.explain.read.packets import parse_over
from taut.explain.tell.result import Explanation, GapTotal, Options
from taut.explain.tell.sentences import gap_sentence
from taut.explain.trial import explain_trial
from taut.records.documents.explanation import ExplainedRun, ExplanationDocument, NotExplained
from taut.records.documents.json_form import plain, plain_object
from taut.records.rundir import RunDirectory, TrialDirectory
from taut.report.columns import numbers, print_columns, words
from taut.report.explained import print_notes, print_offenders, print_trial
from taut.report.explanation import Traced
from taut.report.paragraph import INDENT, print_note, print_paragraph
from taut.self_test.cause_trials import MOST_NS

_STORIES = 10
_TRACED = "10s"


@dataclass(frozen=True)
class _NotExplained:
    """A trial of which nothing can be told."""

    trial: str
    why: str
    heading: str


EXAMPLES = (
    "taut explain runs/first",
    "taut explain runs/first --trial '*buffered*' --over 25us",
    "taut explain 4242 --duration 5s",
    "taut explain --self-test --cores 1",
)


_RunArgument = Annotated[
    Path | None,
    typer.Argument(metavar="RUN|PID", help="A run directory, or a process by its PID."),
]
_TrialOption = Annotated[
    str, typer.Option(metavar="PATTERN", help="Only trials whose name matches this.")
]
_OverOption = Annotated[
    str,
    typer.Option(
        metavar="PERCENTILE|TIME",
        help="What is late: above this percentile of the trial, or this time.",
    ),
]
_PerfettoOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the worst episodes of one trial for ui.perfetto.dev."),
]
_CoresOption = Annotated[
    str | None, typer.Option(metavar="CPUS", help="Of a process: only what it polls on these.")
]
_DurationOption = Annotated[
    str | None,
    typer.Option(
        metavar="TIME", help="Of a process (10s); of the self-test, each cause at most (120s)."
    ),
]
_TestOption = Annotated[
    bool,
    typer.Option(
        "--self-test",
        help="Make every cause on a core (--cores) and disturb every packet path; hold explain "
        "to it.",
    ),
]
_ActsOption = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Of the self-test: felt of each cause, at least; on a path 40 at most.",
    ),
]
_CausesOption = Annotated[
    list[str] | None,
    typer.Option("--cause", metavar="CAUSE", help="Of the self-test: only these causes."),
]
_PathsOption = Annotated[
    list[str] | None,
    typer.Option("--path", metavar="NAME", help="Of the self-test: only these packet paths."),
]


def explain(
    run: _RunArgument = None,
    trial: _TrialOption = "*",
    over: _OverOption = "p99.9",
    perfetto: _PerfettoOption = None,
    cores: _CoresOption = None,
    duration: _DurationOption = None,
    test: _TestOption = False,
    acts: _ActsOption = 500,
    causes: _CausesOption = None,
    paths: _PathsOption = None,
    details: DetailsOption = False,
    timings: TimingsOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Name the cause of every late packet, with evidence, and say "unknown" where it is.

    Reads the run: packets, the gaps of generator and device, and the kernel's events. Without
    events (--no-trace) the gaps alone speak, and most causes stay unknown. A trial that cannot be
    explained has a line that says why, and the others are explained all the same. Of a process
    that keeps no log of its gaps, stalls come from the kernel's events alone.
    """
    if test:
        core = parse_cpu_list(cores)[0] if cores else max(cpuset_cores())
        most_ns = MOST_NS if duration is None else parse_duration_ns(duration)
        print_self_test(core, acts, most_ns, causes or (), paths or (), as_json)
        return
    if run is None:
        raise InputError("explain: name a run directory or a process, or give --self-test")
    parse_over(over)
    found: Iterator[Explanation | _NotExplained]
    with timed(timings):
        if run.name.isdigit() and not run.exists():
            found = _of_process(int(run.name), cores, parse_duration_ns(duration or _TRACED))
        else:
            found = _of_trials(_trials(run, trial), Options(over=over), perfetto)
        not_explained = (
            _print_json(run, found) if as_json else _print_all(Console(), found, details=details)
        )
        if not as_json:
            print_timings(Console())
    if not_explained is not None:
        raise InputError(not_explained)


def _print_json(run: Path, found: Iterable[Explanation | _NotExplained]) -> str | None:
    """Print one document; say why where it holds no explanation."""
    trials: list[ExplanationDocument] = []
    left_out: list[_NotExplained] = []
    for one in found:
        if isinstance(one, _NotExplained):
            left_out.append(one)
        else:
            trials.append(as_document(one))
    not_explained = tuple(NotExplained(one.trial, one.why) for one in left_out)
    document = plain_object(ExplainedRun(str(run), tuple(trials), not_explained))
    json.dump(plain({**document, **timings_key()}), sys.stdout)
    print()
    return None if trials else _nothing_words(left_out)


def _print_all(
    console: Console, found: Iterable[Explanation | _NotExplained], *, details: bool
) -> str | None:
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


def _of_process(pid: int, cores: str | None, duration_ns: int) -> Iterator[Explanation]:
    chosen = None if cores is None else parse_cpu_list(cores)
    with Console(stderr=True).status(f"tracing process {pid}"):
        yield from explain_process(pid, chosen, duration_ns)


def _of_trials(
    trials: Sequence[TrialDirectory], options: Options, perfetto: Path | None
) -> Iterator[Explanation | _NotExplained]:
    """One at a time: each holds its events, hundreds of megabytes in a long trial."""
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
