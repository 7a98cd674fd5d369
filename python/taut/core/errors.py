"""One tree of errors; each class owns the exit status `taut` ends with.

TautError 1
├── InputError 2          a file, option or combination the user gave
│   └── MissingToolError  a program, library or right this machine lacks
├── TrialError 1          one trial failed; the run goes on
├── RequirementNotMet 3   measured, and not as good as was required
└── InterruptedRun 130    Ctrl-C; whole trials are kept

A message names the thing and the remedy. Only cli/main.py catches and prints.
"""

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

# Errors that any read or write may meet and that are the machine's, not taut's.
_REMEDIES = {
    errno.EACCES: "run as root, or name another",
    errno.EPERM: "run as root, or name another",
    errno.EROFS: "name another place",
    errno.ENOSPC: "make room, or name another place",
    errno.EDQUOT: "make room, or name another place",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f), or name another place",
    errno.ENOTDIR: "name another place",
    errno.EISDIR: "name another place",
    errno.EEXIST: "name another place",
    errno.ENAMETOOLONG: "give a shorter name",
    errno.ENOENT: "make its folder, or name another",
    errno.EBUSY: "name another",
    errno.ENXIO: "name another",
}


class TautError(Exception):
    """Something taut can explain in one line."""

    exit_status = 1


class InputError(TautError):
    """The user's input is wrong; nothing was measured."""

    exit_status = 2


class MissingToolError(InputError):
    """This machine lacks a program, a library or a right that was asked for."""


class TrialError(TautError):
    """One trial failed; `log_tail` holds the last lines of whoever failed."""

    def __init__(self, reason: str, log_tail: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.log_tail = list(log_tail)


class RequirementNotMet(TautError):
    """Measuring went well; what was measured is not what was required."""

    exit_status = 3


class InterruptedRun(TautError):
    """The user stopped the run; whole trials are kept."""

    exit_status = 130


def told_of(error: OSError) -> InputError | None:
    """Give the machine's error as taut tells it: what, why, the remedy. None: it is taut's own."""
    if error.errno not in _REMEDIES:
        return None
    what = f"{error.filename}: " if error.filename else ""
    return InputError(f"{what}{error.strerror}; {_REMEDIES[error.errno]}")


@contextmanager
def telling() -> Iterator[None]:
    """Raise InputError for an error of the machine's (a full disk, a missing right)."""
    try:
        yield
    except OSError as error:
        if (told := told_of(error)) is None:
            raise
        raise told from error
