"""What a program says it can do, so that what is new in C needs no change in Python."""

import subprocess
from typing import TypeVar

from taut.core.binaries import find_binary, how_to_get
from taut.core.errors import MissingToolError
from taut.records.documents.json_form import parse, read_object

T = TypeVar("T")


def describe(program: str, kind: type[T]) -> T:
    """Give what its --describe prints; MissingToolError: it is not built, or prints no JSON."""
    command = [str(find_binary(program)), "--describe"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    described = read_object(done.stdout)
    if described is None:
        raise MissingToolError(f"{program} --describe: no JSON; {how_to_get()} again")
    return parse(kind, described, f"{program} --describe")
