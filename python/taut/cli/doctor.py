"""`taut doctor`: what this machine can and cannot do, the remedy, and what crashes left."""

from typing import Annotated

import typer

from taut.cli.options import JsonOption

EXAMPLES = (
    "taut doctor",
    "taut doctor --clean",
)


def doctor(
    clean: Annotated[bool, typer.Option("--clean", help="Remove what killed runs left.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what this machine can and cannot do, and the remedy."""
    # Here, not above: `-h` needs none of it.
    from taut.cli.doctor_job import report_machine

    if not report_machine(clean=clean, as_json=as_json):
        raise typer.Exit(1)
