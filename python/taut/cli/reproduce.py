"""`taut reproduce NAME`: repeat a published experiment, print published beside measured."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from taut.cli.details import DetailsOption
from taut.cli.images import ImagesOption
from taut.cli.run_job import (
    NoTraceOption,
    TraceOption,
    WaitOption,
    default_out,
    finish,
    print_plan,
    run_and_report,
    with_trace,
)
from taut.core.errors import InputError
from taut.core.files import write_json
from taut.core.units import parse_duration_ns
from taut.dut.drivers import DRIVERS
from taut.experiment.plan import make_plan
from taut.experiment.preflight import require
from taut.experiment.run_manifest import Origin
from taut.experiment.spec import parse_spec
from taut.experiment.words import did_you_mean
from taut.records.documents.json_form import plain
from taut.records.documents.published import PUBLISHED_FILE
from taut.records.documents.results import Analysis
from taut.records.rundir import RunDirectory
from taut.report.paragraph import print_note
from taut.reproduce import EXPERIMENTS
from taut.reproduce.experiment import PublishedExperiment

EXAMPLES = (
    "taut reproduce debs20 --quick --dry-run",
    "taut reproduce hipnet21 --captures captures",
)


_CapturesOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Measure the published captures in this folder instead: pairs of files named "
        "NAME-RATE-pre and NAME-RATE-post, RATE like 10kpps (pcap, pcapng; .gz, .zst).",
    ),
]
_QuickOption = Annotated[
    bool, typer.Option("--quick", help="Under three minutes, once each: shows, proves nothing.")
]
_OutOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="The run directory; default: runs/NAME-TIME.")
]
_ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Run only what --out does not hold yet.")
]
_DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Print trials, cores, disk and time; run nothing.")
]
_OverridesOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a value: duration=2s."),
]
_AsJsonOption = Annotated[
    bool, typer.Option("--json", help="Print results.json on stdout and nothing else there.")
]


def reproduce(
    name: Annotated[str, typer.Argument(help="The experiment: debs20 or hipnet21.")],
    captures: _CapturesOption = None,
    quick: _QuickOption = False,
    out: _OutOption = None,
    resume: _ResumeOption = False,
    dry_run: _DryRunOption = False,
    overrides: _OverridesOption = None,
    trace: TraceOption = None,
    no_trace: NoTraceOption = False,
    wait: WaitOption = False,
    images: ImagesOption = False,
    details: DetailsOption = False,
    as_json: _AsJsonOption = False,
) -> None:
    """Repeat a published experiment; print published beside measured."""
    if name not in EXPERIMENTS:
        raise InputError(f"unknown experiment {name!r}{did_you_mean(name, EXPERIMENTS)}")
    experiment = EXPERIMENTS[name]
    asked = with_trace(overrides, trace, no_trace)

    def publish(run: RunDirectory, analysis: Analysis) -> None:
        sections = experiment.compare(analysis.variants)
        write_json(run.path / PUBLISHED_FILE, plain([of.document() for of in sections]))

    if captures is not None:
        if quick or resume or dry_run or asked:
            raise InputError("--captures: nothing is sent, so it takes --out and --json alone")
        run = _match_captures(experiment, captures, out or default_out(name))
        finish(run, as_json=as_json, details=details, publish=publish, images=images)
        return
    missing = missing_devices(experiment)
    notes = Console(stderr=True)
    for device, reason in missing.items():
        print_note(notes, f"without {device}: {reason}")
    text = experiment.spec_text(quick=quick, without=list(missing))
    spec = parse_spec(text, asked, source=name)
    plan = make_plan(spec)
    if dry_run:
        print_plan(plan, out or default_out(spec.name))
        require(plan)
        return
    if resume and out is None:
        raise InputError("--resume: which run? give its directory with --out")
    origin = Origin(text, f"taut reproduce {name}", tuple(asked), tuple(sys.argv))
    run_and_report(
        plan,
        out or default_out(spec.name),
        origin,
        resume=resume,
        wait=wait,
        as_json=as_json,
        details=details,
        publish=publish,
        images=images,
    )


def _match_captures(experiment: PublishedExperiment, folder: Path, out: Path) -> RunDirectory:
    """Match every pair of a folder; give the run they become."""
    if experiment.skip_of_captures is None:
        raise InputError(f"--captures: {experiment.name} has published none; leave it out")
    # Here, not above: a live run needs neither.
    from taut.capture.native import MatchOptions
    from taut.capture.pair_run import analyse_pairs
    from taut.reproduce.capture_pairs import find_pairs

    options = MatchOptions(skip_ns=parse_duration_ns(experiment.skip_of_captures))
    notes = Console(stderr=True)
    say = partial(print_note, notes)
    return analyse_pairs(find_pairs(folder), out, options, say, command_line=sys.argv)


def missing_devices(experiment: PublishedExperiment) -> dict[str, str]:
    """Say which optional devices this machine cannot run, and the remedy."""
    found = {}
    for device, driver in experiment.optional_devices().items():
        reason = DRIVERS[driver].missing(DRIVERS[driver].options_type())
        if reason is not None:
            found[device] = reason
    return found
