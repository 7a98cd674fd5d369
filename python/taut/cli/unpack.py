"""`taut unpack FILE`: a packed run as a run directory again, checked."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from taut.cli.options import JsonOption, run_directory_option

EXAMPLES = (
    "taut unpack theirs.taut",
    "taut unpack theirs.taut --out runs/of-a-colleague",
)


def unpack(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `taut pack` wrote.")],
    out: Annotated[Path | None, run_directory_option("runs/, by the name of the file")] = None,
    as_json: JsonOption = False,
) -> None:
    """Unpack a run: every file is there and as it was packed, or nothing is left.

    Refused are a file that is damaged or cut off, one of a newer format, and one that holds links,
    files it does not name, or names that lead out of the folder.
    """
    # Here, not above: `-h` needs none of it.
    from taut.records.documents.json_form import plain_object
    from taut.records.packed import check_room, open_packed
    from taut.records.rundir import PACKED_SUFFIX
    from taut.report.found_runs import found_run
    from taut.report.paragraph import print_paragraph
    from taut.testbed.scratch import made_whole

    folder = out or Path("runs") / file.name.removesuffix(PACKED_SUFFIX)
    with open_packed(file) as packed:
        check_room(packed.document, folder)
        with Console(stderr=True).status(f"unpacking {file}"), made_whole(folder):
            packed.extract(folder)
    if as_json:
        print(json.dumps({"run": str(folder)} | plain_object(packed.document)))
        return
    console = Console()
    told = f"{folder}: {len(packed.document.files)} files, {packed.document.n_bytes / 1e6:,.1f} MB,"
    print_paragraph(console, f"{told} each as it was packed by taut {packed.document.taut}.")
    print_paragraph(console, found_run(folder).outcome)
    if packed.document.left_out is not None:
        told = "Its records were left out: `taut report` and `taut compare` give the same digits, "
        print_paragraph(console, told + "`taut explain` and `taut report --again` cannot.")
