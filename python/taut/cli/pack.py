"""`taut pack RUN`: a run in one file, to hand on or to keep."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from taut.cli.options import JsonOption
from taut.core.errors import InputError

EXAMPLES = (
    "taut pack runs/first",
    "taut pack runs/first --without-records --out first.taut",
)


def pack(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run directory that `taut run` wrote.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file; default: RUN.taut, beside the run."),
    ] = None,
    without_records: Annotated[
        bool,
        typer.Option(
            "--without-records",
            help="Leave out what was recorded packet by packet: the report stays as it is, "
            "explaining or analysing again is not possible any more.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Pack a run into one file, which `taut unpack` checks and any machine reports identically.

    A ZIP archive with the SHA-256 of every file. The same run gives the same bytes.
    """
    # Here, not above: `-h` needs none of it.
    from taut.records.documents.json_form import plain_object
    from taut.records.packed import write_packed
    from taut.records.rundir import PACKED_SUFFIX, RunDirectory
    from taut.report.found_runs import found_run
    from taut.report.paragraph import print_paragraph

    directory = RunDirectory(run)
    if directory.manifest_or_none() is None:
        directory.some_trials()
    if without_records:
        _check_analysed(run)
    # Not with_suffix: a dot may be part of a run's name.
    file = out or run.resolve().with_name(run.resolve().name + PACKED_SUFFIX)
    if file.resolve().is_relative_to(run.resolve()):
        raise InputError(f"{file}: inside the run that is packed; name another with --out")
    file.parent.mkdir(parents=True, exist_ok=True)
    with Console(stderr=True).status(f"packing {run}"):
        document = write_packed(run, file, without_records=without_records)
    size = file.stat().st_size
    if as_json:
        print(json.dumps({"file": str(file), "file_bytes": size} | plain_object(document)))
        return
    console = Console()
    taken = f"{document.n_bytes / 1e6:,.1f} MB in {size / 1e6:,.1f} MB"
    print_paragraph(console, f"{file}: {len(document.files)} files of {run}, {taken}.")
    print_paragraph(console, found_run(run).outcome)
    if document.left_out is not None:
        told = f"Left out: {document.left_out.n_files} files of records, "
        told += f"{document.left_out.n_bytes / 1e6:,.1f} MB. `taut report` and `taut compare` "
        told += "give the same digits without them; `taut check` may show less, and `taut "
        told += "explain`, `taut report --again` and `--engine` need them."
        print_paragraph(console, told)


def _check_analysed(run: Path) -> None:
    """InputError: what remains without the records is no report yet."""
    from taut.analysis.pairing import is_analysed
    from taut.records.rundir import RunDirectory

    if not is_analysed(RunDirectory(run)):
        raise InputError(f"{run}: not analysed, which takes the records; `taut report {run}` first")
