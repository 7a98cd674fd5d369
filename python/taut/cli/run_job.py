"""From a plan to a report: what commands that measure an experiment share, and what they add."""

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from rich.console import Console

from taut.cli.claims_note import claims_note
from taut.cli.progress import TerminalProgress
from taut.cli.timings import print_timings, timings_key
from taut.cli.unread import tell
from taut.core.errors import InterruptedRun
from taut.core.requirement import parse_requirement
from taut.core.timings import stage
from taut.core.units import bytes_words, duration_words, length_words
from taut.experiment import tracing
from taut.experiment.disk import free_at, refuse_full_disk
from taut.experiment.interrupt import interruptible
from taut.experiment.plan import Plan, unloaded, untraced
from taut.experiment.preflight import require
from taut.experiment.room import disk_bytes
from taut.experiment.run_manifest import Origin
from taut.experiment.runner import choose_cores, run_plan, some_failed
from taut.host.host import Host
from taut.records.documents.json_form import plain_object
from taut.records.documents.results import Analysis, Results
from taut.records.rundir import RunDirectory
from taut.report.paragraph import INDENT, print_paragraph

Publish = Callable[[RunDirectory, Analysis], None]
"""Adds to an analysed run before its report is written."""

Show = Callable[[Path], None]
"""Prints the result instead of the run's own table; gets the report's path."""


def print_plan(plan: Plan, out: Path) -> None:
    """Print every trial in order; which core does what, the disk and the time all take."""
    console = Console()
    cores = choose_cores(Host(), plan.spec)
    notes = (*cores.notes, *unloaded(plan.spec), *untraced(plan))
    for trial in plan.trials:
        length = f"{trial.count} packets" if trial.count else length_words(trial.duration_ns)
        words = f"{trial.device.link}, record {trial.record}, trace {trial.trace}"
        print_paragraph(console, f"{trial.name}  {length}, {words}", hanging=INDENT)
    lines = [
        f"Cores: {cores.why}.",
        *(f"warning: {warning}" for warning in notes),
        f"Disk: {_disk_words(plan, out)}.",
        f"{len(plan.trials)} trials, about {duration_words(plan.total_ns)}",
    ]
    note = claims_note(plan)
    if note is not None:
        lines.append(note)
    cannot_trace = tracing.why_auto_goes_without(plan)
    if cannot_trace is not None:
        lines.append(f"not traced here: {cannot_trace}")
    for line in lines:
        print_paragraph(console, line, hanging=INDENT)


def _disk_words(plan: Plan, out: Path) -> str:
    """Say what a run takes and what there is, where its directory will be."""
    kept, meanwhile = disk_bytes(plan.trials)
    folder, free = free_at(out)
    said = f"about {bytes_words(kept)}, {bytes_words(meanwhile)} more while it runs"
    if kept + meanwhile > free:
        return f"{said}, but only {bytes_words(free)} are free in {folder}; make room or give --out"
    return f"{said}; {bytes_words(free)} are free"


def run_and_report(
    plan: Plan,
    out: Path,
    origin: Origin,
    *,
    resume: bool | None = None,
    wait: bool = False,
    as_json: bool = False,
    details: bool = False,
    publish: Publish | None = None,
    show: Show | None = None,
    draw: bool = True,
    images: bool = False,
) -> None:
    """Run, analyse, report; an interrupted run is reported as far as it came.

    `resume`: whether to complete a run that is there; None: the command has no --resume. Without
    `draw` no report.html is made; with `images` its figures are files, too. Who has a `show` of its
    own says there what its repetitions are too few for.
    """
    with stage("requirements"):
        require(plan)
        refuse_full_disk(plan, out, tell)
    run = RunDirectory(out)
    note = claims_note(plan) if show is None else None
    with interruptible():
        interrupted = not _measured(plan, out, origin, note, resume=resume, wait=wait)
        if interrupted and not (out / "manifest.json").is_file():
            raise InterruptedRun("interrupted before the first trial; nothing was measured")
        n_failed = finish(
            run,
            as_json=as_json,
            details=details,
            publish=publish,
            show=show,
            draw=draw,
            images=images,
        )
    if interrupted:
        how = f"in {out}" if resume is None else f"complete them: --out {out} --resume"
        raise InterruptedRun(f"interrupted; whole trials are kept, {how}")
    if plan.spec.require:
        check_required(run, plan.spec.require, as_json=as_json)
    if n_failed:
        raise some_failed(n_failed, out)


def check_required(run: RunDirectory, required: Sequence[str], *, as_json: bool) -> None:
    """Judge an analysed run by what is required; RequirementNotMet where one fails."""
    from taut.analysis.judging import judge_run, refuse_failed
    from taut.analysis.pairing import read_analysis
    from taut.report.requirements import print_requirements

    judged = judge_run(run, read_analysis(run), [parse_requirement(text) for text in required])
    if not as_json:
        print_requirements(judged, Console())
    refuse_failed(judged)


def finish(
    run: RunDirectory,
    *,
    as_json: bool,
    details: bool = False,
    publish: Publish | None,
    show: Show | None = None,
    draw: bool = True,
    images: bool = False,
) -> int:
    """Analyse a run, write its report, print it; give how many trials failed.

    `show` prints the report's path: it goes with `draw`.
    """
    with stage("libraries"):
        # Here, not above: measuring starts without the analysis and plotting libraries.
        from taut.analysis.results import analyse_measured
        from taut.report.table import print_results

    tell("analysing ...")
    with stage("analysis"):
        analysis = analyse_measured(run)
    if publish is not None:
        publish(run, analysis)
    report = _drawn(run, analysis, images=images) if draw else None
    if show is not None and report is not None:
        show(report)
    elif as_json:
        json.dump(plain_object(Results(analysis.trials)) | timings_key(), sys.stdout)
        print()
    else:
        with stage("table"):
            print_results([(run, analysis)], Console(), report, details=details)
        print_timings(Console())
    return analysis.n_failed


def _drawn(run: RunDirectory, analysis: Analysis, *, images: bool) -> Path:
    with stage("libraries"):
        # Here, not above: a run that is not drawn needs no plotting library.
        from taut.report.html import write_html

    return write_html([(run, analysis)], run.path / "report.html", images=images)


def _measured(
    plan: Plan, out: Path, origin: Origin, note: str | None, *, resume: bool | None, wait: bool
) -> bool:
    """Run the plan; False when it was interrupted."""
    with closing(TerminalProgress(first=note)) as progress:
        try:
            run_plan(plan, out, resume, progress, origin, wait=wait)
        except KeyboardInterrupt:
            return False
    return True
