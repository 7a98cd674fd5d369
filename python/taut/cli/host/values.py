"""How commands that read or change values of the host say them, and who may change them."""

import os

from taut.core.errors import InputError

_WIDTH = 60


def need_root(what: str) -> None:
    """Refuse before anything is written."""
    if os.geteuid() != 0:
        raise InputError(f"{what}: needs root; run it with sudo (nothing was written)")


def shown(value: str | None) -> str:
    """Give a value for a table: short, on one line."""
    if value is None:
        return "none"
    words = " ".join(value.split())
    return words if len(words) <= _WIDTH else f"{words[: _WIDTH - 3]}..."
