"""Resident memory of taut and of every program it started, from /proc; how it stays as it is."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE")

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_THRESHOLD = 128 << 10
"""glibc's own at first. Both grow with the largest array that was ever freed, unless they are set:
then arrays come from a heap, and of a thread's the one freed last stays, malloc_trim or not."""


def keep_little() -> None:
    """From now on give larger arrays back when they are freed; nothing undoes it in a process."""
    with suppress(AttributeError):  # Another C library.
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_TRIM_THRESHOLD, _THRESHOLD)
        mallopt(_M_MMAP_THRESHOLD, _THRESHOLD)


def give_back() -> None:
    """Give what was freed back to the kernel, wherever it lies (malloc_trim(3)).

    glibc keeps what is freed below something in use, so that whoever makes arrays again and again
    has the memory of the largest ones it ever had at a time.
    """
    with suppress(AttributeError):  # Another C library.
        ctypes.CDLL(None).malloc_trim(0)


def resident_bytes(process: int, proc: Path = _PROC) -> dict[str, int]:
    """Give the memory of a process, called taut, and of its descendants by the names they have.

    Programs of one name are added up. One that ended meanwhile is left out.
    """
    found: dict[str, int] = {}
    for pid in _family(process, proc):
        with suppress(OSError, ValueError, IndexError):
            pages = int((proc / str(pid) / "statm").read_text().split()[1])
            name = "taut" if pid == process else (proc / str(pid) / "comm").read_text().strip()
            found[name] = found.get(name, 0) + pages * _PAGE
    return found


def _family(process: int, proc: Path) -> Iterator[int]:
    yield process
    tasks = proc / str(process) / "task"
    with suppress(OSError):
        for task in tasks.iterdir():
            for child in (task / "children").read_text().split():
                yield from _family(int(child), proc)
