"""`taut rfc 2544|8219|9004 SPEC`: the benchmarks of an RFC, as it has them."""

import re
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
from taut.core.errors import InputError
from taut.core.files import default_out

EXAMPLES = (
    "taut rfc 2544 examples/rfc.toml --dry-run",
    "taut rfc 2544 examples/rfc.toml --quick",
    "taut rfc 8219 examples/rfc.toml --set rfc.frames=64,1518 --out runs/8219",
)

_LENGTH = re.compile(r"^\s*(duration|count)\s*=", re.MULTILINE)

_NUMBERS = ("2544", "8219", "9004")

_RfcArgument = Annotated[
    str, typer.Argument(metavar="2544|8219|9004", help="Whose recipe: the number of the RFC.")
]
_SpecArgument = Annotated[
    Path,
    typer.Argument(
        help="The experiment whose devices are measured; its rates, frames, schedule and lengths "
        "do not count."
    ),
]
_QuickOption = Annotated[
    bool,
    typer.Option(
        "--quick", help="Minutes instead of hours: what is shortened stands beside the results."
    ),
]


def rfc(
    number: _RfcArgument,
    spec: _SpecArgument,
    quick: _QuickOption = False,
    least: MinOption = None,
    most: MaxOption = None,
    out: Annotated[Path | None, run_directory_option("runs/rfcNUMBER-NAME-TIME")] = None,
    resume: ResumeOption = False,
    dry_run: DryRunOption = False,
    overrides: SetOption = None,
    trace: TraceOption = None,
    no_trace: NoTraceOption = False,
    wait: WaitOption = False,
    images: ImagesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Carry out the tests of RFC 2544, 8219 or 9004, and print their own tables.

    First the throughput of every frame size is searched, bounded by what the loopback carries;
    latency, loss, recovery, reset or bursts start from it. Percentiles of all packets stand beside
    what the RFC asks for.
    """
    if number not in _NUMBERS:
        raise InputError(f"rfc {number}: no recipe of taut; known are {', '.join(_NUMBERS)}")
    refuse_plan_as_json(dry_run, as_json)
    # Here, not above: `-h` needs none of it.
    from taut.cli.rfc_job import RfcRun, carry_out_and_report
    from taut.cli.rfc_plan import print_rfc_plan
    from taut.experiment.recipes import recipe_of
    from taut.experiment.rfc import spec_of
    from taut.experiment.run_manifest import Origin
    from taut.experiment.spec import parse_spec, read_spec_text

    text = read_spec_text(spec)
    asked = [*with_trace(overrides, trace, no_trace), f'rfc.recipe="{number}"']
    asked += ["rfc.quick=true"] if quick else []
    asked += search_limits(least, most)
    # A recipe has its own lengths; the model wants one all the same.
    has_length = _LENGTH.search(text) or any(map(_LENGTH.match, asked))
    length = [] if has_length else ["duration=1s"]
    parsed = parse_spec(text, [*length, *asked], source=str(spec))
    recipe = recipe_of(parsed.rfc.recipe or "2544", parsed.rfc)
    parsed = spec_of(parsed, recipe)
    directory = out or default_out(f"rfc{number}-{parsed.name}")
    if dry_run:
        print_rfc_plan(parsed, recipe, directory)
        return
    refuse_resume_of_nothing(resume, out)
    carry_out_and_report(
        RfcRun(
            parsed,
            recipe,
            directory,
            Origin(text, str(spec), tuple(asked), tuple(sys.argv)),
        ),
        resume=resume,
        wait=wait,
        images=images,
        as_json=as_json,
    )
