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


def lock_now(opened: int) -> bool:
    """Take the lock of an open file; False: somebody else has it.

    Where a file system has no locks it is nobody's: who asks here works all the same.
    """
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


@contextmanager
def held_alone(path: Path, within_s: float = 0.0) -> Iterator[bool]:
    """Hold what is there while the block lasts, as `lock_now` does.

    False: somebody else still does after waiting so long.
    """
    end = time.monotonic() + within_s
    opened = os.open(path, os.O_RDONLY)
    try:
        while not (is_ours := lock_now(opened)) and time.monotonic() < end:
            time.sleep(0.02)
        yield is_ours
    finally:
        os.close(opened)


def _if_there(path: Path, opened: int) -> int | None:
    """Give what was opened if the path still names it; a lock of anything else is of no use."""
    try:
        if os.path.samestat(os.fstat(opened), path.lstat()):
            return opened
    except FileNotFoundError:
        pass
    os.close(opened)
    return None
