"""`taut report RUN...`: analyse recorded runs and write one report of them."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from taut.analysis.results import analyse_run
from taut.cli.details import DetailsOption
from taut.core.credentials import refuse_password
from taut.records.documents.json_form import plain_object
from taut.records.rundir import RunDirectory
from taut.report.html import write_html
from taut.report.table import print_results
from taut.storage.engines import ENGINES

EXAMPLES = (
    "taut report runs/first",
    "taut report runs/first runs/second --out both.html",
)


def report(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run directories that `taut run` wrote.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The HTML file; default: report.html in the first run."),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(metavar="ENGINE", help=f"The SQL engine that analyses: {', '.join(ENGINES)}."),
    ] = "duckdb",
    engine_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Where it is: postgresql://USER@HOST:PORT/DATABASE (default: as PGHOST and the "
            "other PG* say); spark://HOST:PORT (default: local[*]). A password is given by "
            "PGPASSWORD or ~/.pgpass, never here.",
            callback=refuse_password,
        ),
    ] = None,
    details: DetailsOption = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the analysis as one JSON document instead.")
    ] = False,
) -> None:
    """Analyse runs again and write their report: a table here, HTML, SVG and PNG in files."""
    notes = Console(stderr=True)
    analysed = []
    for path in runs:
        run = RunDirectory(path)
        n_trials = len(run.some_trials())
        with notes.status(f"analysing {path}: {n_trials} trials"):
            analysed.append((run, analyse_run(run, engine, engine_url=engine_url)))
    with notes.status("drawing figures"):
        written = write_html(analysed, out or runs[0] / "report.html")
    if as_json:
        documents = [{"run": str(run.path), **plain_object(of)} for run, of in analysed]
        json.dump({"report": str(written), "runs": documents}, sys.stdout)
        sys.stdout.write("\n")
    else:
        print_results(analysed, Console(), written, details=details)
