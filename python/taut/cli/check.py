"""`taut check RUN`: whether a run shows that its requirements are met."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from taut.cli.options import JsonOption, WithoutVoidOption
from taut.core.errors import InputError
from taut.core.files import write_whole

EXAMPLES = (
    'taut check runs/first --require "p99.9 < 25us" --require "loss = 0"',
    "taut check runs/first --profile urllc:within=500us --junit check.xml",
)


def check(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run directory.")],
    requirements: Annotated[
        list[str] | None,
        typer.Option("--require", metavar="RULE", help="Such as 'p99.99 < 25us'; may be repeated."),
    ] = None,
    profiles: Annotated[
        list[str] | None,
        typer.Option(
            "--profile",
            metavar="NAME[:KEY=VALUE]",
            help="urllc, cps, tsn-isochronous, ecpri, oran or ran-host; may be repeated.",
        ),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the verdicts as JUnit's XML.")
    ] = None,
    without_void: WithoutVoidOption = False,
    as_json: JsonOption = False,
) -> None:
    """Judge a run by what is asked of it: pass, fail, inconclusive or invalid.

    Exit status 0: all is shown to be met; 3: something is not met; 1: something is not shown.
    """
    from taut.core.requirement_profiles import all_requirements

    asked = all_requirements(requirements or (), profiles or ())
    # Here, not above: `-h` and what is written wrong need none of it.
    from rich.console import Console

    from taut.analysis.judging import judge_run, refuse_not_shown, to_judge
    from taut.analysis.soak_check import analysis_of, is_soak, judge_soak
    from taut.records.documents.json_form import plain
    from taut.records.rundir import RunDirectory
    from taut.report.requirements import check_document, junit_xml, print_requirements
    from taut.report.soak import print_beyond

    directory = RunDirectory(run)
    if not is_soak(directory):  # Its rows count before its first trial has ended.
        directory.some_trials()
    asked = to_judge(directory, asked)
    if not asked:
        raise InputError(
            f"{run}: nothing is required; give --require or --profile, or write [require] in the "
            "experiment"
        )
    with Console(stderr=True).status(f"reading {run}"):
        judge = judge_soak if is_soak(directory) else judge_run
        judged = judge(directory, analysis_of(directory), asked, without_void=without_void)
    if as_json:
        json.dump(plain(check_document(str(run), judged, without_void=without_void)), sys.stdout)
        sys.stdout.write("\n")
    else:
        print_requirements(judged, Console(), without_void=without_void)
        print_beyond(run, Console())
    # After the verdict, which is told even where this cannot be written.
    if junit is not None:
        _write(junit, junit_xml(str(run), judged))
    refuse_not_shown(judged)


def _write(path: Path, text: str) -> None:
    """Write a file, and make its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)
