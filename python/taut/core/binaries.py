"""Where taut's own programs are: $TAUT_BIN_DIR, else bin/ of the clone, else PATH.

Those in PATH are a package of their own, which may be of another version than taut: they are asked.
The others were somebody's to choose or to build, and a run holds what they understood to what it
asked (asked.py).
"""

import os
import shutil
from functools import cache
from pathlib import Path

from taut.core.errors import MissingToolError
from taut.core.version import taut_version

BINARIES = (
    "taut-forward",
    "taut-generate",
    "taut-clock",
    "taut-match",
    "taut-count",
    "taut-noise",
    "taut-trace",
    "taut-inject",
)

# python/taut/core/binaries.py: three folders up is the clone.
_CLONE = Path(__file__).resolve().parents[3]
_PACKAGE = "taut-dataplane"  # Debian's package of the programs
_ANSWERS_WITHIN_S = 10


def find_binary(name: str) -> Path:
    """Give the path of one of taut's programs; MissingToolError says how to get it."""
    path = find_binary_or_none(name)
    if path is None:
        raise MissingToolError(not_found(name))
    return path


def not_found(name: str) -> str:
    """Say that a program is not here, and how to get it: as taut itself was got."""
    return f"{name}: program not found; {how_to_get()} or set TAUT_BIN_DIR"


def how_to_get() -> str:
    """Name the command that brings the programs: in a clone they are built, else installed."""
    return "run `make build`" if is_clone() else f"install {_PACKAGE}"


def is_clone() -> bool:
    """Whether this taut is a clone's, where make builds what is missing."""
    return (_CLONE / "meson.build").is_file()


def find_binary_or_none(name: str) -> Path | None:
    """Give the path of one of taut's programs, or None when it is not here.

    MissingToolError: it is in PATH, and of another version than taut.
    """
    folder = os.environ.get("TAUT_BIN_DIR")
    if folder is not None:
        return _executable(Path(folder) / name)
    in_clone = _executable(_CLONE / "bin" / name)
    if in_clone is not None:
        return in_clone
    on_path = shutil.which(name)
    if on_path is None:
        return None
    _check_version(name, on_path, taut_version())
    return Path(on_path)


@cache
def _check_version(name: str, path: str, wanted: str) -> None:
    """Hold `NAME --version` to taut's own, once a process."""
    import subprocess  # commands that need no program do without

    if wanted == "unknown":
        return
    try:
        said = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=_ANSWERS_WITHIN_S
        ).stdout.split()
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingToolError(f"{path}: does not start: {error}; install {_PACKAGE}") from None
    if said != [name, wanted]:
        found = (
            f"of version {said[1]}"
            if said[:1] == [name] and len(said) == 2
            else "no program of taut's"
        )
        raise MissingToolError(
            f"{path}: {found}, taut is of version {wanted}; install {_PACKAGE} {wanted}"
        )


def sha256_of(path: Path) -> str:
    """Hash a file, so that a manifest says which program measured."""
    import hashlib  # OpenSSL takes as long to load as the rest of this module

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _executable(path: Path) -> Path | None:
    return path.resolve() if path.is_file() and os.access(path, os.X_OK) else None
