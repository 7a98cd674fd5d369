"""Passwords stay out of what taut writes and says.

A command line can be read by every user of the machine while the command runs, so a password is
refused there (`refuse_password`); what is written down or said all the same is blotted out
(`hide_passwords`, `hide_in`).
"""

import re
from collections.abc import Mapping
from typing import TypeVar, cast

from taut.core.errors import InputError

Value = TypeVar("Value")

_HIDDEN = "***"
# postgresql://USER:PASSWORD@HOST: up to the last @ of the word, for a password may hold others.
_IN_AUTHORITY = re.compile(r"(://[^\s/@:]*:)\S+(?=@)")
# password=..., sslpassword=..., spark.authenticate.secret=...: in a query, or as libpq writes it.
_AS_PARAMETER = re.compile(
    r"((?:password|passwd|secret|token)\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&;,]+)", re.IGNORECASE
)


def hide_passwords(text: str) -> str:
    """Write *** for each password in a URL, a connection string or a message that quotes one."""
    return _AS_PARAMETER.sub(rf"\1{_HIDDEN}", _IN_AUTHORITY.sub(rf"\1{_HIDDEN}", text))


def hide_in(value: Value) -> Value:
    """Give a value as JSON has it, with *** for each password in its strings; keys stay."""
    found: object = value
    if isinstance(value, str):
        found = hide_passwords(value)
    elif isinstance(value, Mapping):
        found = {name: hide_in(inner) for name, inner in value.items()}
    elif isinstance(value, list | tuple):
        found = type(value)(hide_in(inner) for inner in value)
    return cast(Value, found)


def refuse_password(url: str | None) -> str | None:
    """Give a URL of the command line back; InputError where it has a password in it."""
    if url is not None and hide_passwords(url) != url:
        raise InputError(
            f"--engine-url {hide_passwords(url)}: leave the password out, every user of this "
            "machine can read a command line; PostgreSQL takes it from PGPASSWORD or ~/.pgpass, "
            "Spark from spark-defaults.conf"
        )
    return url
