"""Output of work that goes on when nobody reads it any more: of `taut soak ... | tee`, tee is gone.

A pipe without a reader and a terminal that was hung up end what only prints; of what measures for
hours, and what keeps it, they end nothing.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from rich.console import Console

from taut.report.paragraph import print_note

_FOR_GOOD = (errno.EPIPE, errno.EIO)


class PatientConsole(Console):
    """A console that says that nobody reads it, where rich's own ends the process."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


@contextmanager
def unread_is_dropped(file: IO[str]) -> Iterator[None]:
    """Where a file's reader is gone, let all that is written go nowhere; raise other errors."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FOR_GOOD:
            raise
        # Or what is in the file's buffer would fail once more when taut ends.
        with suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, file.fileno())
            os.close(nowhere)


def tell(text: str) -> None:
    """Say on stderr what taut is at, if it can be said."""
    console = PatientConsole(stderr=True)
    with suppress(OSError), unread_is_dropped(console.file):
        print_note(console, text)
