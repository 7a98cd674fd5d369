"""`taut compare A B`: whether the second run is faster, as far as packets and repetitions show."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from taut.cli.options import ImagesOption, JsonOption
from taut.core.errors import InputError

EXAMPLES = ("taut compare runs/first runs/second",)


def compare(
    a: Annotated[Path, typer.Argument(metavar="RUN_A", help="The run directory to compare with.")],
    b: Annotated[Path, typer.Argument(metavar="RUN_B", help="The run directory that is compared.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write an HTML report of both here.")
    ] = None,
    images: ImagesOption = False,
    without_void: Annotated[
        bool,
        typer.Option("--without-void", help="Leave out packets the generator itself held up."),
    ] = False,
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
    from taut.analysis.pairing import read_analysis
    from taut.records.documents.comparison import ComparisonDocument, ConditionDiffering
    from taut.records.documents.json_form import plain
    from taut.records.rundir import RunDirectory
    from taut.report.comparison import differing_conditions, print_comparison
    from taut.report.html import write_html

    directories = [RunDirectory(path) for path in (a, b)]
    for run in directories:
        run.some_trials()
    runs = []
    for run in directories:
        with Console(stderr=True).status(f"reading {run.path}"):
            runs.append((run, read_analysis(run)))
    comparison = compare_runs(*runs, without_void=without_void)
    differing = differing_conditions(*runs)
    if out is not None:
        write_html(runs, out, comparison, images=images)
    if as_json:
        document = ComparisonDocument(
            a=str(a),
            b=str(b),
            report=None if out is None else str(out),
            verdict=comparison.verdict,
            pairs=tuple(pair.document() for pair in comparison.pairs),
            warnings=tuple(comparison.warnings),
            differing_conditions=tuple(ConditionDiffering(*one) for one in differing),
        )
        json.dump(plain(document), sys.stdout)
        sys.stdout.write("\n")
    else:
        print_comparison(comparison, (str(a), str(b)), differing, Console(), out)
