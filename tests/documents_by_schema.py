"""Files that tests leave, held to the schemas of their names: each accepts what its reader does."""

import json
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from made_json import is_read
from taut.records.documents.catalogue import CATALOGUE, Catalogued

BY_NAME: Mapping[str, Catalogued] = {of.name: of for of in CATALOGUE}
_CHECKED: set[Path] = set()


@cache
def validator_of(name: str) -> Draft202012Validator:
    return Draft202012Validator(BY_NAME[name].schema())


def check_folders(arguments: Mapping[str, object]) -> None:
    """Check what a test was given as folders, or as runs; a folder of several tests once."""
    for name, value in arguments.items():
        folder = getattr(value, "path", value)
        if isinstance(folder, Path) and folder not in _CHECKED and folder.is_dir():
            if name != "tmp_path":
                _CHECKED.add(folder)
            for path, kind, document in documents_in(folder):
                errors = list(validator_of(kind).iter_errors(document))
                assert is_read(BY_NAME[kind].kind, document) == (not errors), (path, errors)


def documents_in(folder: Path) -> Iterator[tuple[Path, str, Any]]:
    """Give every document below a folder, with its name in the catalogue; no damaged JSON."""
    for where, _, names in os.walk(folder):
        for name in names:
            kind = name.removesuffix(".json")
            if kind not in BY_NAME or (kind == name) != (kind == "journal"):
                continue
            text = Path(where, name).read_text(errors="replace")
            for line in text.splitlines() if kind == "journal" else [text]:
                try:
                    yield Path(where, name), kind, json.loads(line)
                except ValueError:
                    continue
