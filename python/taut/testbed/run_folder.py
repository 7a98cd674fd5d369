"""The folder that holds the folders of a user's runs: nobody else may write to it.

Cleanup kills and deletes what it reads there, and sockets in it are the ends of links.
dataplane/runtime/port_socket.c asks the same of the folder for a socket's bare name.
"""

import os
import stat
from pathlib import Path

from taut.core.errors import InputError


def default_base() -> Path:
    """Give that folder: /run/taut for root, else one in the user's runtime folder."""
    if os.geteuid() == 0:
        return Path("/run/taut")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        return Path(runtime) / "taut"
    return Path(f"/tmp/taut-{os.geteuid()}")  # noqa: S108 - checked before it is used


def make_private(folder: Path) -> None:
    """Make a folder that only this user may write to, or take the one that is there.

    InputError where it cannot be made, or is not this user's alone.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be made: {error.strerror}; set XDG_RUNTIME_DIR to a folder of your "
            "own"
        ) from None
    check_private(folder)


def check_private(folder: Path) -> None:
    """InputError where a folder that is there is a link, another's, or others may write to it."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        why = "it is no folder but a link or a file"
    elif found.st_uid != os.geteuid():
        why = f"it belongs to user {found.st_uid}"
    elif found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        why = "others may write to it"
    else:
        return
    raise InputError(
        f"{folder}: {why}, so nothing in it can be trusted; remove it, or set XDG_RUNTIME_DIR to "
        "a folder of your own"
    )
