"""`taut search SPEC`: how much load a device carries: NDR, PDR and goals of the user."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from taut.cli.options import (
    DryRunOption,
    ImagesOption,
    JsonOption,
    MaxOption,
    MinOption,
    NoTraceOption,
    ResumeOption,
    SetOption,
    TraceOption,
    WaitOption,
    refuse_plan_as_json,
    refuse_resume_of_nothing,
    run_directory_option,
    search_limits,
    with_trace,
)
from taut.core.files import default_out

EXAMPLES = (
    "taut search examples/capacity.toml --dry-run",
    "taut search examples/capacity.toml --out runs/capacity",
    "taut search examples/capacity.toml --goal fast:within=1ms,share=99.9%",
)

_SpecArgument = Annotated[
    Path, typer.Argument(help="The experiment whose devices are loaded; its rates do not count.")
]
_GoalOption = Annotated[
    list[str] | None,
    typer.Option(
        "--goal",
        metavar="NAME[:KEY=VALUE,...]",
        help="Search for this instead of the file's goals: ndr, pdr, "
        "some:loss=0.1%,trial=2s, or fast:within=1ms,share=99.999%; may be repeated.",
    ),
]


def search(
    spec: _SpecArgument,
    goal: _GoalOption = None,
    least: MinOption = None,
    most: MaxOption = None,
    out: Annotated[Path | None, run_directory_option("runs/search-NAME-TIME")] = None,
    resume: ResumeOption = False,
    dry_run: DryRunOption = False,
    overrides: SetOption = None,
    trace: TraceOption = None,
    no_trace: NoTraceOption = False,
    wait: WaitOption = False,
    images: ImagesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find the highest load that each device carries, with no loss, with little, or in time.

    Loads are tried until a lower and an upper bound of each goal are close to each other (RFC
    9971), first through no device at all: nothing above what that carries is tried. Afterwards
    latency is measured, as the experiment says, at 10, 50 and 90 % of what was found.
    """
    refuse_plan_as_json(dry_run, as_json)
    # Here, not above: `-h` needs none of it.
    from taut.cli.search_job import search_and_report
    from taut.cli.search_plan import print_search_plan
    from taut.experiment.goals import goal_table
    from taut.experiment.run_manifest import Origin
    from taut.experiment.spec import parse_spec, read_spec_text

    text = read_spec_text(spec)
    asked = with_trace(overrides, trace, no_trace)
    if goal:
        asked.append(f"goal=[{', '.join(goal_table(one) for one in goal)}]")
    asked += search_limits(least, most)
    parsed = parse_spec(text, asked, source=str(spec))
    if dry_run:
        print_search_plan(parsed)
        return
    refuse_resume_of_nothing(resume, out)
    search_and_report(
        parsed,
        out or default_out(f"search-{parsed.name}"),
        Origin(text, str(spec), tuple(asked), tuple(sys.argv)),
        resume=resume,
        wait=wait,
        images=images,
        as_json=as_json,
    )
