"""Values of Python as TOML: an experiment that a program made, as a file would say it."""

import json
import os
import re
from collections.abc import Iterable, Mapping

from taut.core.errors import InputError

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def toml_document(document: Mapping[str, object]) -> str:
    """Write an experiment. InputError: something in it has no form in TOML."""
    return "".join(f"{_key(key)} = {toml_value(value, key)}\n" for key, value in document.items())


def toml_value(value: object, place: str) -> str:
    """Write one value, a table inline; `place`, its key, names it in InputError."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str | os.PathLike):
        # JSON's escapes are TOML's, but for the one character that JSON leaves as it is.
        return json.dumps(os.fspath(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        inner = (f"{_key(k)} = {toml_value(v, f'{place}.{k}')}" for k, v in value.items())
        return f"{{{', '.join(inner)}}}"
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return f"[{', '.join(toml_value(v, f'{place}[{i}]') for i, v in enumerate(value))}]"
    raise InputError(
        f"{place}: {type(value).__name__} has no form in an experiment; give text, a number, "
        "a truth value, a list or a dict, or leave it out"
    )


def _key(key: object) -> str:
    name = str(key)
    return name if _BARE_KEY.fullmatch(name) else toml_value(name, "key")
