"""`taut run SPEC.toml`: the main job."""

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
    OnlyOption,
    ResumeOption,
    SetOption,
    TimingsOption,
    TraceOption,
    WaitOption,
    refuse_plan_as_json,
    refuse_resume_of_nothing,
    run_directory_option,
    with_trace,
)
from taut.core.errors import InputError
from taut.core.timings import timed

EXAMPLES = (
    "taut run examples/first-look.toml --dry-run",
    "taut run examples/first-look.toml --out runs/first",
    "taut run examples/first-look.toml --set traffic.constant.rates=10kpps,20kpps",
)

_NoReportOption = Annotated[
    bool,
    typer.Option("--no-report", help="Draw nothing: `taut report` draws it when it is wanted."),
]


def run(
    spec: Annotated[Path, typer.Argument(help="The experiment; examples/ has some.")],
    out: Annotated[Path | None, run_directory_option("runs/NAME-TIME")] = None,
    resume: ResumeOption = False,
    only: OnlyOption = None,
    dry_run: DryRunOption = False,
    overrides: SetOption = None,
    trace: TraceOption = None,
    no_trace: NoTraceOption = False,
    wait: WaitOption = False,
    no_report: _NoReportOption = False,
    images: ImagesOption = False,
    details: DetailsOption = False,
    timings: TimingsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run an experiment: every device under every load, a table and a report at the end."""
    refuse_plan_as_json(dry_run, as_json)
    # Here, not above: `-h` needs none of it.
    from taut.cli.run_job import print_plan, run_and_report
    from taut.core.files import default_out
    from taut.experiment.plan import make_plan
    from taut.experiment.preflight import require
    from taut.experiment.run_manifest import Origin
    from taut.experiment.spec import parse_spec, read_spec_text

    text = read_spec_text(spec)
    asked = with_trace(overrides, trace, no_trace)
    parsed = parse_spec(text, asked, source=str(spec))
    plan = make_plan(parsed)
    if only is not None:
        plan = plan.only(only)
    if dry_run:
        print_plan(plan, out or default_out(parsed.name))
        require(plan)
        return
    refuse_resume_of_nothing(resume, out)
    if images and no_report:
        raise InputError("--images and --no-report: one of them")
    origin = Origin(text, str(spec), tuple(asked), tuple(sys.argv))
    with timed(timings):
        run_and_report(
            plan,
            out or default_out(parsed.name),
            origin,
            resume=resume,
            wait=wait,
            as_json=as_json,
            details=details,
            draw=not no_report,
            images=images,
        )
