"""Scratch: a private folder for what is needed for a while; what killed tauts left is swept.

Such a folder is in the folder of temporary files (TMPDIR), named taut-PURPOSE-XXXXXXXX.scratch,
this user's alone, with the file `.taut-scratch` in it as long as it is one. Its maker holds it
(core/held.py); one that nobody holds was left by a dead maker, and whoever makes a new one, each
`taut run` and `taut report`, and `taut doctor --clean` remove it. systemd-tmpfiles, too, leaves
alone what is held.

Without its mark a folder that has anything in it is not taut's, whatever its name: the mark is made
first and removed last, so there is no moment at which one of taut's looks like that. An empty one
of such a name is: its maker died just before the one or just after the other. What the mark says
does not matter, only that it is there: it cannot be damaged.

A folder that is to stay has the mark until it is whole (`made_whole`).
"""

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from taut.core.errors import InputError
from taut.core.held import hold, seize
from taut.testbed.carriers import kill_carriers

VARIABLE = "TAUT_SCRATCH"
"""With the folder's path in its environment, a process ends when the folder is swept."""

_MARK = ".taut-scratch"
_SUFFIX = ".scratch"
_NAME = re.compile(rf"taut-[a-z]+-[a-z0-9_]{{8}}{re.escape(_SUFFIX)}")


class Scratch:
    """Context manager that gives the folder; leaving it removes the folder."""

    def __init__(self, purpose: str, within: Path | None = None, *, sweeping: bool = True) -> None:
        """Make a folder; one that is `within` another is left to whoever sweeps that.

        Who only asks what this machine can do is not `sweeping`: that removes nothing.
        """
        if sweeping:
            sweep()
        self.path, self._held = _make(purpose, within or _base())

    def remove(self) -> None:
        """Remove the folder with all that is in it; once."""
        _remove(self.path, self._held)
        os.close(self._held)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()


@contextmanager
def made_whole(path: Path) -> Iterator[None]:
    """Fill a new folder in the block: it is scratch until that ends well, else it is removed.

    What killed makers left there, and beside it, is removed first. InputError: there is anything
    else, or somebody else makes it.
    """
    for mark in path.parent.glob(f"*/{_MARK}"):
        _remove_dead(mark.parent)
    path.mkdir(parents=True, exist_ok=True)
    held = _hold_if_new(path)
    if held is None:
        raise InputError(f"{path}: not empty; give --out a new directory")
    try:
        (path / _MARK).touch()
        yield
        (path / _MARK).unlink()
    except BaseException:
        _remove(path, held)
        raise
    finally:
        os.close(held)


def _remove_dead(path: Path) -> None:
    """Remove a folder with the mark that nobody holds; of its own scratch `sweep` knows more."""
    held = None if _NAME.fullmatch(path.name) else seize(path, os.O_DIRECTORY)
    if held is not None:
        try:
            if _is_ours(held):
                _remove(path, held)
        finally:
            os.close(held)


def _hold_if_new(path: Path) -> int | None:
    """Hold an empty folder, or one of a dead maker that cannot be removed: a mount point."""
    held = (seize if any(path.iterdir()) else hold)(path, os.O_DIRECTORY)
    if held is not None and {entry.name for entry in path.iterdir()} - {_MARK}:
        os.close(held)
        return None
    return held


def find_dead() -> list[str]:
    """Name the folders whose makers are dead, and how large they are."""
    return [_words(path, held) for path, held in _dead()]


def sweep() -> list[str]:
    """Remove the folders whose makers are dead, and end what runs out of them; name them."""
    swept = []
    for path, held in _dead():
        words = _words(path, held)
        kill_carriers(VARIABLE, str(path))
        if _remove(path, held):
            swept.append(words)
    return swept


def _make(purpose: str, within: Path) -> tuple[Path, int]:
    try:
        path = Path(tempfile.mkdtemp(_SUFFIX, f"taut-{purpose}-", within))
        held = _hold_if_there(path)
        if held is None:
            return _make(purpose, within)
        _mark(held)
    except OSError as error:
        raise InputError(
            f"{within}: no folder can be made there for what is needed for a while: "
            f"{error.strerror}; make room, or set TMPDIR to another"
        ) from None
    return path, held


def _hold_if_there(path: Path) -> int | None:
    """Hold a folder just made; None: it was taken for a dead one's meanwhile, and swept."""
    try:
        return hold(path, os.O_DIRECTORY)
    except FileNotFoundError:
        return None


def _base() -> Path:
    """Where temporary files go; not what Python says, which is another place once it is full."""
    return Path(os.environ.get("TMPDIR") or "/tmp").absolute()  # noqa: S108 - a name nobody knows


def _dead() -> Iterator[tuple[Path, int]]:
    """Give each folder that is nobody's any more, held until the next is asked for."""
    base = _base()
    for path in sorted(base.glob(f"taut-*{_SUFFIX}")):
        held = seize(path, os.O_DIRECTORY) if _NAME.fullmatch(path.name) else None
        if held is not None:
            try:
                if _is_ours(held):
                    yield path, held
            finally:
                os.close(held)


def _is_ours(folder: int) -> bool:
    """Whether a folder is this user's and has the mark, or nothing in it."""
    found = os.fstat(folder)
    if found.st_uid != os.geteuid():
        return False
    try:
        return stat.S_ISREG(os.stat(_MARK, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return not os.listdir(folder)


def _remove(path: Path, folder: int) -> bool:
    """Remove a folder that is held; False: not all of it, so it keeps its mark."""
    for name in os.listdir(folder):
        if name != _MARK:
            with suppress(OSError):
                _remove_in(folder, name)
    try:
        if os.listdir(folder) == [_MARK]:
            os.unlink(_MARK, dir_fd=folder)
        path.rmdir()
    except OSError:
        # A program that has not ended yet wrote meanwhile: the next sweep has it.
        with suppress(OSError):
            _mark(folder)
        return False
    return True


def _mark(folder: int) -> None:
    os.close(os.open(_MARK, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600, dir_fd=folder))


def _remove_in(folder: int, name: str) -> None:
    if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        shutil.rmtree(name, ignore_errors=True, dir_fd=folder)
    else:
        os.unlink(name, dir_fd=folder)


def _words(path: Path, folder: int) -> str:
    n_bytes = 0
    for _, _, names, inside in os.fwalk(dir_fd=folder):
        for name in names:
            with suppress(FileNotFoundError):
                n_bytes += 512 * os.stat(name, dir_fd=inside, follow_symlinks=False).st_blocks
    return f"scratch folder {path} ({n_bytes / 1e6:,.1f} MB)"
