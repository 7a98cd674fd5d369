"""`taut schema [NAME]`: what an experiment may say, what stands in each document taut writes."""

import json
import shutil
from typing import Annotated

import typer

from taut.cli.help import Formatter
from taut.core.errors import InputError

EXAMPLES = (
    "taut schema",
    "taut schema experiment > experiment.schema.json",
    "taut schema results",
)

EXPERIMENT = "experiment"


def schema(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="What it describes; left out, all are listed."),
    ] = None,
) -> None:
    """Print a JSON Schema (2020-12): of the experiment's file, for editors, or of a document.

    With "#:schema ./experiment.schema.json" as an experiment's first line, editors that know TOML
    by Taplo complete its keys.
    """
    # Here, not above: `-h` needs none of it.
    from taut.core.version import taut_version
    from taut.records.documents.catalogue import CATALOGUE
    from taut.records.documents.json_form import plain

    if name is None:
        rows = [(f"{EXPERIMENT} {taut_version()}", "the file that taut run reads")]
        rows += [(f"{of.name} {of.format}", of.where) for of in CATALOGUE]
        formatter = Formatter(width=shutil.get_terminal_size().columns)
        formatter.write_dl(rows)
        print(formatter.getvalue(), end="")
        return
    if name == EXPERIMENT:
        found = _experiment()
    else:
        by_name = {of.name: of for of in CATALOGUE}
        if name not in by_name:
            from taut.core.words import did_you_mean

            hint = did_you_mean(name, [EXPERIMENT, *by_name])
            raise InputError(f"schema {name!r}: no document of taut{hint}")
        found = dict(by_name[name].schema())
    print(json.dumps(plain(found), indent=1, ensure_ascii=False))


def _experiment() -> dict[str, object]:
    """Make the experiment's; its schedules are known where taut-generate is built."""
    from taut.binaries.describe import describe
    from taut.core.binaries import find_binary_or_none
    from taut.experiment.generator import PROGRAM
    from taut.experiment.schema import experiment_schema
    from taut.records.documents.described import Described

    is_built = find_binary_or_none(PROGRAM) is not None
    return experiment_schema(describe(PROGRAM, Described).schedules if is_built else None)
