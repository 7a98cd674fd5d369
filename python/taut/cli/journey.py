"""From a plan to a report: what `taut run` and `taut reproduce` share."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from taut.cli.progress import TerminalProgress, duration_words
from taut.core.errors import InputError, InterruptedRun, TautError
from taut.core.manifest import write_manifest
from taut.experiment import tracing
from taut.experiment.interrupt import interruptible
from taut.experiment.plan import Plan
from taut.experiment.preflight import require
from taut.experiment.runner import Origin, run_plan
from taut.records.rundir import RunDirectory

TraceOption = Annotated[
    str | None,
    typer.Option(
        "--trace",
        metavar="continuous|tail",
        help="Record what the kernel does on the cores: all of it, or what surrounds spikes; "
        "default: all in trials up to five minutes, if this machine can.",
    ),
]
NoTraceOption = Annotated[bool, typer.Option("--no-trace", help="Record packets alone.")]

Publish = Callable[[RunDirectory, dict[str, Any]], None]
"""Adds to an analysed run before its report is written."""


def default_out(name: str) -> Path:
    """Name a new run directory; two runs of one second get two names."""
    # Local time: the name is for people; manifest.json has UTC.
    stem = f"{name}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    out, n = Path("runs") / stem, 2
    while out.exists():
        out, n = Path("runs") / f"{stem}-{n}", n + 1
    return out


def with_trace(overrides: list[str] | None, trace: str | None, no_trace: bool) -> list[str]:
    """Add what --trace and --no-trace ask for, as --set would: the manifest then has it too."""
    if trace is not None and no_trace:
        raise InputError("--trace and --no-trace: one of them")
    asked = "off" if no_trace else trace
    return [*(overrides or []), *([] if asked is None else [f"trace={asked}"])]


def print_plan(plan: Plan) -> None:
    """Print every trial in order and the time all take."""
    for trial in plan.trials:
        length = f"{trial.count} packets" if trial.count else duration_words(trial.duration_ns)
        words = f"{trial.device.link}, record {trial.record}, trace {trial.trace}"
        print(f"{trial.name}  {length}, {words}")
    print(f"{len(plan.trials)} trials, about {duration_words(plan.total_ns)}")
    cannot_trace = tracing.why_auto_goes_without(plan)
    if cannot_trace is not None:
        print(f"not traced here: {cannot_trace}")


def travel(
    plan: Plan,
    out: Path,
    origin: Origin,
    *,
    resume: bool = False,
    as_json: bool = False,
    publish: Publish | None = None,
) -> None:
    """Run, analyse, report; an interrupted run is reported as far as it came."""
    require(plan)
    run = RunDirectory(out)
    with interruptible():
        interrupted = not _measured(plan, out, origin, resume)
        if interrupted and not (out / "manifest.json").is_file():
            raise InterruptedRun("interrupted before the first trial; nothing was measured")
        n_failed = finish(run, as_json=as_json, publish=publish)
    if interrupted:
        raise InterruptedRun(
            f"interrupted; whole trials are kept, complete them: --out {out} --resume"
        )
    if n_failed:
        raise TautError(
            f"{n_failed} trials failed; their trial.json and logs in {out}/trials say why"
        )


def finish(run: RunDirectory, *, as_json: bool, publish: Publish | None) -> int:
    """Analyse a run, write its report, print it; give how many trials failed."""
    # Here, not above: measuring starts without the analysis and plotting libraries.
    from taut.analysis.results import analyse_run
    from taut.report.html import write_html
    from taut.report.table import print_results

    notes = Console(stderr=True)
    notes.print("analysing ...", highlight=False)
    document = analyse_run(run)
    _keep_calibration(run, document["trials"])
    if publish is not None:
        publish(run, document)
    report = write_html([(run, document)], run.path / "report.html")
    if as_json:
        json.dump(document["trials"], sys.stdout)
        print()
    else:
        print_results([(run, document)], Console(), report)
    return sum(trial["status"] != "whole" for trial in document["trials"])


def _keep_calibration(run: RunDirectory, results: Sequence[Mapping[str, Any]]) -> None:
    """Add to the manifest, trial by trial, what interrupts cost on this machine when it ran."""
    explained = {result["name"]: result.get("explanation") for result in results}
    found = {name: of["calibration"] for name, of in explained.items() if of is not None}
    if found:
        write_manifest(run.path, {**run.manifest(), "calibration": found})


def _measured(plan: Plan, out: Path, origin: Origin, resume: bool) -> bool:
    """Run the plan; False when it was interrupted."""
    with closing(TerminalProgress()) as progress:
        try:
            run_plan(plan, out, resume, progress, origin)
        except KeyboardInterrupt:
            return False
    return True
