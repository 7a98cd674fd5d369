"""Documents that a report shows beside a run's trials, where the run has them."""

from pathlib import Path
from typing import TypeVar

from taut.core.errors import InputError
from taut.records.documents.json_field import default_format
from taut.records.documents.json_form import format_of, parse, read_json

Document = TypeVar("Document")


def read_written(kind: type[Document], path: Path, what: str) -> Document | None:
    """Read a document of a run; None: it has none. InputError: it is of a taut unlike this one.

    `what` it is stands in the message: the rest of the report is made without it.
    """
    if not path.is_file():
        return None
    found = read_json(path)
    ours, written = default_format(kind), format_of(found)
    left_out = f"the {what} is not in this report: write it with the taut that made it"
    if written != ours:
        raise InputError(f"{path}: format {written}, this taut shows format {ours}; {left_out}")
    try:
        return parse(kind, found, str(path))
    except InputError as error:
        raise InputError(f"{error}; {left_out}") from None
