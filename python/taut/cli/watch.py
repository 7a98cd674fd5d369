"""`taut watch RUN`: what a run that is under way has measured so far, live."""

from pathlib import Path
from typing import Annotated

import typer

from taut.cli.options import JsonOption

EXAMPLES = (
    "taut watch runs/soak",
    "taut watch runs/soak --every 10s",
    "taut watch runs/soak --json",
)

_EveryOption = Annotated[
    str | None,
    typer.Option(
        metavar="TIME", help="Between two looks; default: 2s, 10s where it shares measured cores."
    ),
]


def watch(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run directory.")],
    every: _EveryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what the trial under way has counted, until the run ends: of run, search or soak.

    It reads what the generator counts where it counts it, and runs on cores that nothing is
    measured on; where there are none it says so, and rests between small pieces of work.
    """
    # Here, not above: `-h` needs none of it.
    from taut.cli.watch_job import watch_run

    watch_run(run, every, as_json=as_json)
