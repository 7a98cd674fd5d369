"""`taut report RUN...`: write one report of recorded runs."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from taut.cli.options import (
    DetailsOption,
    EngineUrlOption,
    ImagesOption,
    JsonOption,
    TimingsOption,
)
from taut.cli.timings import print_timings, timings_key
from taut.core.timings import stage, timed

EXAMPLES = (
    "taut report runs/first",
    "taut report runs/first runs/second --out both.html",
)


_RunsArgument = Annotated[
    list[Path], typer.Argument(metavar="RUN...", help="Run directories that `taut run` wrote.")
]
_OutOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The HTML file; default: report.html in the first run."),
]
_AgainOption = Annotated[
    bool, typer.Option("--again", help="Analyse again what is analysed already.")
]
_EngineOption = Annotated[
    str | None,
    typer.Option(
        metavar="ENGINE",
        help="Analyse again, by this SQL engine: duckdb, postgres or spark (default: in one pass, "
        "without any, where there is something to analyse).",
    ),
]


def report(
    runs: _RunsArgument,
    out: _OutOption = None,
    images: ImagesOption = False,
    again: _AgainOption = False,
    engine: _EngineOption = None,
    engine_url: EngineUrlOption = None,
    details: DetailsOption = False,
    timings: TimingsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write one report of runs, a table here and HTML in a file; analyse what is not analysed."""
    with timed(timings):
        with stage("libraries"):
            # Here, not above: they take 0.8 s to load, and `-h` needs none of them.
            from rich.console import Console

            from taut.analysis.pairing import read_analysis
            from taut.analysis.results import analyse_run
            from taut.records.documents.json_form import plain_object
            from taut.records.rundir import RunDirectory
            from taut.report.html import write_html
            from taut.report.table import print_results
            from taut.testbed.scratch import sweep

        sweep()
        is_new = again or engine is not None or engine_url is not None
        notes = Console(stderr=True)
        analysed = []
        for path in runs:
            run = RunDirectory(path)
            n_trials = len(run.some_trials())
            run.remove_unfinished()
            with notes.status(f"analysing {path}: {n_trials} trials"), stage("analysis"):
                of = (
                    analyse_run(run, engine, engine_url=engine_url)
                    if is_new
                    else read_analysis(run)
                )
                analysed.append((run, of))
        with notes.status("drawing figures"):
            written = write_html(analysed, out or runs[0] / "report.html", images=images)
        if as_json:
            json.dump(
                {
                    "report": str(written),
                    "runs": [{"run": str(run.path)} | plain_object(of) for run, of in analysed],
                }
                | timings_key(),
                sys.stdout,
            )
            sys.stdout.write("\n")
            return
        with stage("table"):
            print_results(analysed, Console(), written, details=details)
        print_timings(Console())
