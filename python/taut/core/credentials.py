"""Passwords stay out of what taut writes and says.

A command line can be read by every user of the machine while the command runs, so a password is
refused there (`refuse_password`); what is written down or said all the same is blotted out
(`hide_passwords`, `hide_in`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar, cast

from taut.core.errors import InputError

Value = TypeVar("Value")

_HIDDEN = "***"
# postgresql://USER:PASSWORD@HOST: up to the last @ of the word, for a password may hold others.
_IN_AUTHORITY = re.compile(r"(://[^\s/@:]*:)\S+(?=@)")
# password=..., sslpassword=..., spark.authenticate.secret=...: in a query, or as libpq writes it.
_NAME = r"(?:password|passwd|secret|token)"
_AS_PARAMETER = re.compile(rf"({_NAME}\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&;,]+)", re.IGNORECASE)
# --password X, --db-token X: an option and its value, in one text or as two words of a list.
_OPTION = rf"(?<!\S)--?(?:[\w.-]*[_.-])?{_NAME}"
_AS_OPTION = re.compile(rf"({_OPTION}\s+)(?!-)(?:'[^']*'|\"[^\"]*\"|\S+)", re.IGNORECASE)
_IS_OPTION = re.compile(_OPTION, re.IGNORECASE)


def hide_passwords(text: str) -> str:
    """Write *** for each password in a URL, a connection string or a message that quotes one."""
    for written in (_IN_AUTHORITY, _AS_PARAMETER, _AS_OPTION):
        text = written.sub(rf"\1{_HIDDEN}", text)
    return text


def hide_in(value: Value) -> Value:
    """Give a value as JSON has it, with *** for each password in its strings; keys stay."""
    found: object = value
    if isinstance(value, str):
        found = hide_passwords(value)
    elif isinstance(value, Mapping):
        found = {name: hide_in(inner) for name, inner in value.items()}
    elif isinstance(value, list | tuple):
        found = type(value)(_hide_words(value))
    return cast(Value, found)


def _hide_words(words: Sequence[object]) -> Iterator[object]:
    """Give the values of a list, with *** for the word behind an option of a password's name."""
    asks = False
    for word in words:
        is_value = asks and isinstance(word, str) and not word.startswith("-")
        yield _HIDDEN if is_value else hide_in(word)
        asks = isinstance(word, str) and _IS_OPTION.fullmatch(word) is not None


def refuse_password(url: str | None) -> str | None:
    """Give a URL of the command line back; InputError where it has a password in it."""
    if url is not None and hide_passwords(url) != url:
        raise InputError(
            f"--engine-url {hide_passwords(url)}: leave the password out, every user of this "
            "machine can read a command line; PostgreSQL takes it from PGPASSWORD or ~/.pgpass, "
            "Spark from spark-defaults.conf"
        )
    return url
