"""Files and folders that are held while somebody uses them, so that others know whether he lives.

A lock of flock(2) ends with the process that holds it, however that ends: no number of a process
is compared, which may be used again and means nothing in another container. Where a file system has
no locks, everything counts as held.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def hold(path: Path, flags: int) -> int | None:
    """Open what is there and wait until it is held; None: it was removed or renamed meanwhile.

    The caller closes what is given: that lets go of it.
    """
    found = os.open(path, flags | os.O_NOFOLLOW, 0o666)
    with suppress(OSError):
        fcntl.flock(found, fcntl.LOCK_EX)
    return _if_there(path, found)


def seize(path: Path, flags: int = 0) -> int | None:
    """Open and hold what nobody holds; None: somebody does, or it cannot be opened or held."""
    try:
        found = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(found)
        return None
    return _if_there(path, found)


@contextmanager
def held_alone(folder: Path) -> Iterator[bool]:
    """Hold a folder while the block lasts; False: somebody else does.

    Where a file system has no locks it is nobody's: who asks here works all the same.
    """
    opened = os.open(folder, os.O_DIRECTORY)
    try:
        yield not _is_anothers(opened)
    finally:
        os.close(opened)


@contextmanager
def held_within(path: Path, most_s: float) -> Iterator[bool]:
    """Hold what is there while the block lasts; False: somebody else still does after `most_s`.

    Without locks, as for `held_alone`.
    """
    end = time.monotonic() + most_s
    opened = os.open(path, os.O_RDONLY)
    try:
        while is_late := _is_anothers(opened):
            if time.monotonic() > end:
                break
            time.sleep(0.02)
        yield not is_late
    finally:
        os.close(opened)


def _is_anothers(opened: int) -> bool:
    """Take the lock, if it can be had at once."""
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def _if_there(path: Path, opened: int) -> int | None:
    """Give what was opened if the path still names it; a lock of anything else is of no use."""
    try:
        if os.path.samestat(os.fstat(opened), path.lstat()):
            return opened
    except FileNotFoundError:
        pass
    os.close(opened)
    return None
