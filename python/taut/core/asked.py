"""What one of taut's own programs is asked to do, and whether it understood that.

Options are handed over in the one form that a program's report gives them back in: durations in ns,
memory in bytes, numbers in digits (dataplane/base/option_text.c). So a program that is older than
taut, or takes a text for another number, is found in its report, not in its results.
"""

from collections.abc import Mapping

from taut.core.binaries import how_to_get
from taut.core.errors import MissingToolError

Option = str | bool | tuple[str, ...]
"""True is the option alone, False leaves it out; a tuple is the option once for each item."""

Asked = Mapping[str, Option]
"""Options by name, without the dashes."""


def to_arguments(asked: Asked) -> list[str]:
    """Write options for a command line."""
    words: list[str] = []
    for name, value in asked.items():
        if isinstance(value, bool):
            words += [f"--{name}"] if value else []
        else:
            items = (value,) if isinstance(value, str) else value
            words += [word for item in items for word in (f"--{name}", item)]
    return words


def check_understood(program: str, asked: Mapping[str, object], understood: object) -> None:
    """Hold a part of a program's report to what was asked for; MissingToolError: they differ.

    Only names that are `asked` count. Nothing said of one is None, as where the report has no such
    part.
    """
    said = understood if isinstance(understood, Mapping) else {}
    for name, value in asked.items():
        found = said.get(name)
        if found != (list(value) if isinstance(value, tuple) else value):
            raise misunderstood(program, name, value, found)


def misunderstood(program: str, name: str, asked: object, understood: object) -> MissingToolError:
    """Give the error that names a difference and its remedy.

    A program of another version counts as missing: every trial of the run would meet the same.
    """
    return MissingToolError(
        f"{program}: asked for {name} {asked}, understood {understood}; it is of another version"
        f" than taut: {how_to_get()}"
    )
