"""`taut soak SPEC`: does it hold for a day? One device, one load, without a break."""

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
    TraceOption,
    WaitOption,
    refuse_plan_as_json,
    refuse_resume_of_nothing,
    run_directory_option,
    with_trace,
)
from taut.core.files import default_out

EXAMPLES = (
    "taut soak examples/soak.toml --duration 24h --dry-run",
    "taut soak examples/soak.toml --duration 24h --out runs/soak",
    "taut soak examples/soak.toml --duration 24h --out runs/soak --resume",
    """taut soak examples/soak.toml --require "max < 1ms" --on-fail 'logger -t taut'""",
)

_SpecArgument = Annotated[
    Path,
    typer.Argument(
        help="An experiment with one device and one load; how long it says is left aside."
    ),
]
_DurationOption = Annotated[
    str, typer.Option(metavar="TIME", help="How long in all: 24h; a soak of a day is usual.")
]
_EveryOption = Annotated[str, typer.Option(metavar="TIME", help="The length of a row.")]
_ControlOption = Annotated[
    bool,
    typer.Option("--control", help="Before it, as long a soak without a device: the instrument's."),
]
_RequireOption = Annotated[
    list[str] | None,
    typer.Option(
        "--require",
        metavar="RULE",
        help="Such as 'p99.99 < 25us', besides the file's; ends when one cannot be met any more.",
    ),
]
_CleanOption = Annotated[
    list[str] | None,
    typer.Option(
        "--clean",
        metavar="RULE",
        help="Say for how long rows kept to this; default: the requirements.",
    ),
]
_PrometheusOption = Annotated[
    Path | None,
    typer.Option(
        "--prometheus", metavar="FILE", help="Write a textfile for node_exporter with each row."
    ),
]
_OnFailOption = Annotated[
    str | None,
    typer.Option(
        "--on-fail",
        metavar="COMMAND",
        help="Run this when a requirement is lost or the soak fails; it gets the reason as $1.",
    ),
]


def soak(
    spec: _SpecArgument,
    duration: _DurationOption = "24h",
    every: _EveryOption = "300s",
    only: OnlyOption = None,
    control: _ControlOption = False,
    require: _RequireOption = None,
    clean: _CleanOption = None,
    prometheus: _PrometheusOption = None,
    on_fail: _OnFailOption = None,
    out: Annotated[Path | None, run_directory_option("runs/soak-NAME-TIME")] = None,
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
    """Measure one device under one load for hours, without a break, in rows of five minutes.

    Its tail is recorded and explained; memory and disk are constant, and said before it starts.
    After a kill or a reboot --resume measures what is missing. `taut watch RUN` shows it meanwhile.
    """
    refuse_plan_as_json(dry_run, as_json)
    # Here, not above: `-h` needs none of it.
    from taut.cli.soak_job import Wishes, print_soak_plan, soak_and_report
    from taut.core.requirement import parse_requirement
    from taut.core.units import parse_duration_ns
    from taut.experiment.plan import make_plan
    from taut.experiment.run_manifest import Origin
    from taut.experiment.soak import plan_soak
    from taut.experiment.spec import parse_spec, read_spec_text

    refuse_resume_of_nothing(resume, out)
    planned_ns, every_ns = parse_duration_ns(duration), parse_duration_ns(every)
    text = read_spec_text(spec)
    asked = with_trace(overrides, trace, no_trace)
    parsed = parse_spec(text, asked, source=str(spec))
    own = [parse_requirement(rule).text for rule in require or ()]
    required = tuple(dict.fromkeys((*parsed.require, *own)))
    plan = make_plan(parsed.model_copy(update={"require": required}))
    plan = plan if only is None else plan.only(only)
    kept = [parse_requirement(text) for text in clean or ()]
    asked_soak = plan_soak(plan, planned_ns, every_ns, has_control=control, clean=kept)
    folder = out or default_out(f"soak-{parsed.name}")
    if dry_run:
        print_soak_plan(asked_soak, folder)
        return
    soak_and_report(
        asked_soak,
        folder,
        Origin(text, str(spec), tuple(asked), tuple(sys.argv)),
        Wishes(prometheus, on_fail, images=images, details=details, as_json=as_json),
        resume=resume,
        wait=wait,
    )
