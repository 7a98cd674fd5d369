"""Where taut's own programs are: $TAUT_BIN_DIR, else bin/ of the clone, else PATH."""

import os
import shutil
from pathlib import Path

from taut.core.errors import MissingToolError

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


def find_binary(name: str) -> Path:
    """Give the path of one of taut's programs; MissingToolError says how to build it."""
    path = find_binary_or_none(name)
    if path is None:
        raise MissingToolError(f"{name}: program not found; run `make build` or set TAUT_BIN_DIR")
    return path


def find_binary_or_none(name: str) -> Path | None:
    """Give the path of one of taut's programs, or None when it is not built."""
    folder = os.environ.get("TAUT_BIN_DIR")
    if folder is not None:
        return _executable(Path(folder) / name)
    in_clone = _executable(_CLONE / "bin" / name)
    if in_clone is not None:
        return in_clone
    on_path = shutil.which(name)
    return Path(on_path) if on_path else None


def sha256_of(path: Path) -> str:
    """Hash a file, so that a manifest says which program measured."""
    import hashlib  # OpenSSL takes as long to load as the rest of this module

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _executable(path: Path) -> Path | None:
    return path.resolve() if path.is_file() and os.access(path, os.X_OK) else None
