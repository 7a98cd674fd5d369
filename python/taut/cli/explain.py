"""`taut explain RUN`: the cause of every late packet, with evidence, and "unknown" where it is."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from taut.analysis.causes import BY_ID
from taut.analysis.explain.document import as_document
from taut.analysis.explain.perfetto import write_perfetto
from taut.analysis.explain.predicted import Audit, predict, read_audit
from taut.analysis.explain.result import CauseTotal, Explanation, GapTotal, Options
from taut.analysis.explain.stories import call_words
from taut.analysis.explain.trial import explain_trial
from taut.cli.explain_process import explain_process
from taut.cli.self_test.causes import CAUSES, MOST_NS, print_self_test
from taut.core.cpus import parse_cpu_list
from taut.core.errors import InputError
from taut.core.units import format_ns, parse_duration_ns
from taut.records.rundir import RunDirectory, TrialDirectory

_STORIES = 10
_TRACED = "10s"


def explain(
    run: Annotated[
        Path | None,
        typer.Argument(help="A run directory, or a process by its PID."),
    ] = None,
    trial: Annotated[str, typer.Option(help="Only trials whose name matches this.")] = "*",
    over: Annotated[
        str, typer.Option(help="What is late: above this percentile of the trial, or this time.")
    ] = "p99.9",
    perfetto: Annotated[
        Path | None, typer.Option(help="Write the worst episodes of one trial for ui.perfetto.dev.")
    ] = None,
    cores: Annotated[
        str | None, typer.Option(help="Of a process: only what it polls on these.")
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(help="Of a process (10s); of the self-test, each cause at most (120s)."),
    ] = None,
    test: Annotated[
        bool,
        typer.Option(
            "--self-test", help="Inject every cause on a core (--cores); hold explain to it."
        ),
    ] = False,
    acts: Annotated[
        int, typer.Option(help="Of the self-test: felt of each cause, at least.")
    ] = 500,
    causes: Annotated[
        list[str] | None, typer.Option("--cause", help="Of the self-test: only these.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Name the cause of every late packet, with evidence, and say "unknown" where it is.

    Reads the run: packets, the gaps of generator and device, and the kernel's events. Without
    events (--no-trace) the gaps alone speak, and most causes stay unknown. Of a process that
    keeps no log of its gaps, stalls come from the kernel's events alone.
    """
    if test:
        core = parse_cpu_list(cores)[0] if cores else max(os.sched_getaffinity(0))
        most_ns = MOST_NS if duration is None else parse_duration_ns(duration)
        print_self_test(core, acts, most_ns, causes or CAUSES, as_json)
        return
    if run is None:
        raise InputError("explain: name a run directory or a process, or give --self-test")
    if run.name.isdigit() and not run.exists():
        found = _of_process(int(run.name), cores, parse_duration_ns(duration or _TRACED))
    else:
        found = _of_trials(_trials(run, trial), Options(over=over), perfetto)
    if as_json:
        document = {"format": 1, "run": str(run), "trials": [as_document(e) for e in found]}
        json.dump(document, sys.stdout)
        print()
        return
    console = Console()
    for explanation in found:
        if explanation.packets is not None:
            _print_tail(console, explanation)
        else:
            _print_stalls(console, explanation)
        _print_notes(console, explanation)


def _of_process(pid: int, cores: str | None, duration_ns: int) -> Iterator[Explanation]:
    chosen = None if cores is None else parse_cpu_list(cores)
    with Console(stderr=True).status(f"tracing process {pid}"):
        yield from explain_process(pid, chosen, duration_ns)


def _of_trials(
    trials: Sequence[TrialDirectory], options: Options, perfetto: Path | None
) -> Iterator[Explanation]:
    """One at a time: each holds its events, hundreds of megabytes in a long trial."""
    if perfetto is not None and len(trials) > 1:
        raise InputError(f"--perfetto: of one trial, not {len(trials)}; name it with --trial")
    notes = Console(stderr=True)
    for trial in trials:
        with notes.status(f"explaining {trial.name}"):
            explanation = explain_trial(trial.path, options)
        if perfetto is not None:
            drawn = write_perfetto(explanation, perfetto)
            words = f"{perfetto}: {drawn.n_packets:,} packets, {drawn.n_gaps:,} gaps, "
            words += f"{drawn.n_events:,} kernel events; open it in ui.perfetto.dev"
            notes.print(words, markup=False, highlight=False, soft_wrap=True)
        yield explanation


def _trials(run: Path, pattern: str) -> Sequence[TrialDirectory]:
    if not run.is_dir():
        raise InputError(f"{run}: no such folder; name a run directory")
    whole = [trial for trial in RunDirectory(run).trials() if trial.is_whole]
    if not whole:
        raise InputError(f"{run}: no whole trial; is it a run directory?")
    chosen = [trial for trial in whole if fnmatchcase(trial.name, pattern)]
    if not chosen:
        names = ", ".join(trial.name for trial in whole)
        raise InputError(f"--trial {pattern}: matches none of {names}")
    return chosen


def _print_tail(console: Console, e: Explanation) -> None:
    threshold = "" if e.threshold_ns is None else f" ({format_ns(e.threshold_ns)})"
    console.print(
        f"\n[bold]{escape(e.name)}[/]: {e.n_tail:,} of {e.n_packets:,} packets above "
        f"{escape(e.over)}{threshold}, median {format_ns(e.p50_ns or 0)}"
    )
    table = Table(box=None)
    for name, justify in _COLUMNS:
        table.add_column(name, justify=justify, overflow="fold")
    audit = read_audit(e.source.trial)
    for total in e.causes:
        table.add_row(*_cells(total, audit))
    console.print(table)
    for total in e.causes:
        if words := predict(total.cause, audit).words:
            console.print(f"{escape(total.title)}: {escape(words)}", highlight=False)
    console.print(
        f"unknown {e.share_of('unknown'):.1%}, hypervisor or hardware "
        f"{e.share_of('hypervisor-or-hardware'):.1%}, trace lost {e.share_of('trace-lost'):.1%}, "
        f"the measurer itself {e.share_of('measurer'):.1%} of the tail; {e.n_void:,} packets void"
    )
    for story in e.worst[:_STORIES]:
        console.print(escape(story.line), soft_wrap=True, highlight=False)


def _print_stalls(console: Console, e: Explanation) -> None:
    console.print(f"\n[bold]{escape(e.name)}[/]: when it did not have its core")
    table = Table("cause", box=None)
    for name in ("stalls", "total", "worst"):
        table.add_column(name, justify="right")
    table.add_column("mostly by")
    for total in e.gap_totals:
        words, times = BY_ID[total.cause].title, (total.total_ns, total.worst_ns)
        table.add_row(words, f"{total.n:,}", *map(format_ns, times), escape(_mostly_by(total)))
    console.print(table)
    for gap in e.worst_gaps[:_STORIES]:
        length = format_ns(gap.end_ns - gap.start_ns)
        line = f"core {gap.core} +{length} [{gap.grade}] {gap.cause} {gap.detail}"
        console.print(escape(line), soft_wrap=True, highlight=False)


def _mostly_by(total: GapTotal) -> str:
    """The thread that took most, and how much of the time in these gaps."""
    for who, ns in total.by.items():
        return f"{who} {ns / max(total.total_ns, 1):.0%}"
    return ""


def _print_notes(console: Console, e: Explanation) -> None:
    if words := call_words(*e.calls):
        console.print(words, highlight=False)
    for event, costs in e.missing:
        console.print(f"[dim]this kernel lacks {escape(event)}: {escape(costs)}[/]")
    for note in e.notes:
        console.print(f"! {escape(note)}")


_COLUMNS: tuple[tuple[str, Any], ...] = (
    ("cause", "left"),
    ("episodes", "right"),
    ("packets", "right"),
    ("share of tail", "right"),
    ("total", "right"),
    ("worst", "right"),
    ("grades", "left"),
    ("remedy", "left"),
)


def _cells(total: CauseTotal, audit: Audit | None) -> list[str]:
    checks = predict(total.cause, audit).most_telling
    grades = " ".join(f"{grade}:{n:,}" for grade, n in total.n_by_grade.items() if n)
    return [
        escape(total.title),
        f"{total.n_episodes:,}",
        f"{total.n_packets:,}",
        f"{total.tail_share:.1%}",
        format_ns(total.total_ns),
        format_ns(total.worst_ns),
        grades,
        escape(", ".join(map(str, checks)) or total.ask),
    ]
