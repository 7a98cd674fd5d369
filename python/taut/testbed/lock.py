"""One lock per base folder: nr_hugepages is read, changed and written by several runs."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK_FILE = ".lock"


@contextmanager
def locked(base: Path) -> Iterator[None]:
    """Hold the base folder's lock; the kernel releases it when the holder dies."""
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (base / LOCK_FILE).open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
