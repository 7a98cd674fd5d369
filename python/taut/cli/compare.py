"""`taut compare A B`: whether the second run is faster, as far as packets and repetitions show."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taut.cli.options import ImagesOption, JsonOption, WithoutVoidOption
from taut.core.errors import InputError

if TYPE_CHECKING:
    from taut.analysis.pairing import AnalysedRun

EXAMPLES = (
    "taut compare runs/first runs/second",
    'taut compare runs/first runs/second --fail-if "p99 > +10%"',
)


def compare(
    a: Annotated[Path, typer.Argument(metavar="RUN_A", help="The run directory to compare with.")],
    b: Annotated[Path, typer.Argument(metavar="RUN_B", help="The run directory that is compared.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write an HTML report of both here.")
    ] = None,
    images: ImagesOption = False,
    without_void: WithoutVoidOption = False,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE",
            help="Exit with 3 where shown, as 'p99 > +10%'; with 1 where nothing could be.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two runs of taut, or two analysed captures: relative improvement per percentile."""
    if a.exists() and b.exists() and a.samefile(b):
        raise InputError(f"{b}: the same run twice; name two, `taut runs` lists what there is")
    if images and out is None:
        raise InputError("--images: they lie beside a report; give its file with --out")
    # Here, not above: `-h` needs none of it.
    from rich.console import Console

    from taut.analysis.compare import compare_runs
    from taut.analysis.regression import judge_gates, parse_fail_if, refuse_gates
    from taut.records.documents.comparison import ComparisonDocument, ConditionDiffering
    from taut.records.documents.json_form import plain
    from taut.report.comparison import differing_conditions, print_comparison
    from taut.report.html import write_html

    rules = [parse_fail_if(rule) for rule in fail_if or ()]
    runs = _analysed([a, b])
    comparison = compare_runs(*runs, without_void=without_void)
    differing = differing_conditions(*runs)
    if out is not None:
        write_html(runs, out, comparison, images=images)
    if as_json:
        report = None if out is None else str(out)
        document = ComparisonDocument(
            a=str(a),
            b=str(b),
            report=report,
            without_void=comparison.without_void,
            verdict=comparison.verdict,
            pairs=comparison.documents(),
            warnings=tuple(comparison.warnings),
            differing_conditions=tuple(ConditionDiffering(*one) for one in differing),
        )
        json.dump(plain(document), sys.stdout)
        sys.stdout.write("\n")
    else:
        print_comparison(comparison, (str(a), str(b)), differing, Console(), out)
    refuse_gates(judge_gates(comparison, rules, without_void=without_void))


def _analysed(paths: list[Path]) -> "list[AnalysedRun]":
    """Read runs, or analyse those that are not yet; InputError where there is none."""
    from rich.console import Console

    from taut.analysis.pairing import read_analysis
    from taut.records.rundir import RunDirectory

    directories = [RunDirectory(path) for path in paths]
    for run in directories:
        run.some_trials()
    runs = []
    for run in directories:
        with Console(stderr=True).status(f"reading {run.path}"):
            runs.append((run, read_analysis(run)))
    return runs
