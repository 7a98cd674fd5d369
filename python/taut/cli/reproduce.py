"""`taut reproduce NAME`: repeat a published experiment, print published beside measured."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from taut.cli.options import (
    DetailsOption,
    DryRunOption,
    ImagesOption,
    JsonOption,
    NoTraceOption,
    ResumeOption,
    SetOption,
    TraceOption,
    WaitOption,
    refuse_plan_as_json,
    refuse_resume_of_nothing,
    run_directory_option,
    with_trace,
)
from taut.core.errors import InputError

EXAMPLES = (
    "taut reproduce debs20 --quick --dry-run",
    "taut reproduce nfvi5g --quick --dry-run",
    "taut reproduce nfvi18 --quick --dry-run",
    "taut reproduce nfvi5g --soak 2h --dry-run",
    "taut reproduce hipnet21 --live --quick --dry-run",
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
_LiveOption = Annotated[
    bool,
    typer.Option("--live", help="Measure on this machine: what is done without --captures, too."),
]
_QuickOption = Annotated[
    bool, typer.Option("--quick", help="Under ten minutes, once each: shows, proves nothing.")
]
_SoakOption = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Measure its soak instead, for so long: one load, and the same without a device "
        "(nfvi5g; a day at most).",
    ),
]


def reproduce(
    name: Annotated[str, typer.Argument(help="The experiment: debs20, hipnet21, nfvi18, nfvi5g.")],
    captures: _CapturesOption = None,
    live: _LiveOption = False,
    quick: _QuickOption = False,
    soak: _SoakOption = None,
    out: Annotated[Path | None, run_directory_option("runs/NAME-TIME")] = None,
    resume: ResumeOption = False,
    dry_run: DryRunOption = False,
    overrides: SetOption = None,
    trace: TraceOption = None,
    no_trace: NoTraceOption = False,
    wait: WaitOption = False,
    images: ImagesOption = False,
    details: DetailsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Repeat a published experiment; print published beside measured."""
    refuse_plan_as_json(dry_run, as_json)
    # Here, not above: `-h` needs none of it.
    from taut.cli import reproduce_job as job
    from taut.cli.run_job import finish, print_plan, run_and_report
    from taut.core.files import default_out
    from taut.core.units import parse_duration_ns
    from taut.experiment.preflight import require
    from taut.experiment.run_manifest import Origin

    experiment = job.find_experiment(name)
    publish = job.publishing(experiment)
    asked = with_trace(overrides, trace, no_trace)
    if captures is not None:
        if live or quick or soak is not None or resume or dry_run or wait or asked:
            raise InputError(
                "--captures: nothing is sent; of the options only --out, --images, --details and "
                "--json go with it"
            )
        run = job.match_captures(experiment, captures, out or default_out(name))
        finish(run, as_json=as_json, details=details, publish=publish, images=images)
        return
    if soak is not None and quick:
        raise InputError("--soak and --quick: one of them")
    soak_ns = None if soak is None else parse_duration_ns(soak)
    text, plan = job.plan_here(experiment, asked, quick=quick, soak_ns=soak_ns)
    directory = out or default_out(plan.spec.name)
    if dry_run:
        print_plan(plan, directory)
        require(plan)
        return
    refuse_resume_of_nothing(resume, out)
    run_and_report(
        plan,
        directory,
        Origin(text, f"taut reproduce {name}", tuple(asked), tuple(sys.argv)),
        resume=resume,
        wait=wait,
        as_json=as_json,
        details=details,
        publish=publish,
        images=images,
    )
