"""Run one of taut's own programs in the place of this process: same output, same exit status."""

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from taut.core.binaries import find_binary

# For typer: every argument is the program's, --help included.
ANY_ARGUMENTS = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "help_option_names": [],
}


def arguments_after(command: str, argv: Sequence[str] | None = None) -> list[str]:
    """Give what follows `command` on the command line, as typed.

    Not from click's context, which loses the `--` before EAL options.
    """
    typed = list(sys.argv if argv is None else argv)
    return typed[typed.index(command) + 1 :]


def exec_program(program: str, arguments: Sequence[str]) -> NoReturn:
    """Replace this process by the program; its help says `taut NAME`, as it was called."""
    path = find_binary(program)
    sys.stdout.flush()
    os.execv(path, [program.replace("-", " "), *arguments])  # noqa: S606 - no shell is the point
