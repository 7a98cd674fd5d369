"""Whole files or none: written under a temporary name, renamed when they are whole."""

import errno
import json
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from taut.core.errors import InputError
from taut.core.held import hold, seize

TEMPORARY_PREFIX = ".tmp-"


def write_json(path: Path, document: object) -> None:
    """Write a JSON document so that a crash leaves the old file or the new one, never a half.

    A name of a file may be any bytes: what Python has for those that are no UTF-8 is escaped.
    """
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    write_whole(path, text.encode(errors="backslashreplace").decode())


def write_whole(path: Path, text: str) -> None:
    """Write a text file so that a crash leaves the old file or the new one, never a half."""
    with (
        whole(path) as temporary,
        temporary.open("w", encoding="utf-8", errors="surrogateescape") as file,
    ):
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def sync_all(folder: Path) -> None:
    """Have all files below a folder, and their names, on the disk before anything that follows."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            _sync(path)
        elif path.is_dir() and not path.is_symlink():
            sync_folder(path)
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk, where its file system can."""
    try:
        _sync(folder)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def whole_path(folder: Path, path: str | Path) -> str:
    """Spell a path that is given as seen from a folder in one way, wherever taut is started."""
    return os.path.abspath(folder / path)  # noqa: PTH100 - absolute() keeps `..`


def default_out(name: str) -> Path:
    """Name a new run directory; two runs of one second get two names."""
    # Local time: the name is for people; manifest.json has UTC.
    stem = f"{name}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    out, n = Path("runs") / stem, 2
    while out.exists():
        out, n = Path("runs") / f"{stem}-{n}", n + 1
    return out


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give the name to write a file under; it has its own when the block ends without an error.

    A second writer of the same file waits for the first. What is not synced in the block may be
    lost when the machine crashes. What is left where taut is killed in the block is taken by the
    next writer of the file, or removed by `remove_unfinished`. A pipe or a device stays what it
    is, and is written to when the block ends.
    """
    if not is_replaceable(path):
        with _copied(path) as temporary:
            yield temporary
        return
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{path.name}")
    with _naming(path, temporary):
        while (held := hold(temporary, os.O_WRONLY | os.O_CREAT)) is None:
            pass
        try:
            yield temporary
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        finally:
            os.close(held)


def is_replaceable(path: Path) -> bool:
    """Whether a file may be put in a path's place: there is one by now, or nothing.

    A link to either is replaced, not what it names: in a folder that others may write to it could
    lead anywhere. Those of /dev and /proc (/dev/stdout) are the system's.
    """
    parent = path.parent.resolve()
    if path.is_symlink() and (parent == Path("/dev") or parent.is_relative_to("/proc")):
        return False
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return True


@contextmanager
def _copied(path: Path) -> Iterator[Path]:
    # Here, not above: few name such a path.
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        temporary = Path(folder) / path.name
        with _naming(path, temporary):
            yield temporary
            # Appended: of `--out /dev/stdout >> FILE` the file would lose what it has.
            with temporary.open("rb") as written, path.open("ab") as target:
                shutil.copyfileobj(written, target)


@contextmanager
def _naming(path: Path, temporary: Path) -> Iterator[None]:
    """Have an error name the file: Python and Arrow do not when the disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno is None or str(error.filename or temporary) != str(temporary):
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error


def remove_unfinished(folder: Path) -> None:
    """Remove from a folder what writers left that were killed; who still writes keeps his file."""
    for path in folder.glob(f"{TEMPORARY_PREFIX}*"):
        if path.is_file() and (held := seize(path)) is not None:
            with suppress(OSError):  # somebody else's, or a disk that is only read
                path.unlink()
            os.close(held)


def refuse_odd_bytes(path: Path) -> None:
    """InputError: the path is no UTF-8. Only pyarrow minds, which takes no other for Parquet."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise InputError(
            f"{str(path)!r}: not UTF-8, so no Parquet file can be there; name another"
        ) from None
