"""Ctrl-C once stops the trial and keeps what is whole; twice ends taut at once."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_INTERRUPTED = 130


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt at the first signal; end the process at the second.

    The second leaves things behind as a kill would: children die with taut, and the next run
    removes the rest.
    """
    n_seen = 0
    owner = os.getpid()

    def handle(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a signal handler
        nonlocal n_seen
        if os.getpid() != owner:
            # We are in a fork of this process (pyroute2 makes them): it must not clean up our run.
            # It dies as it would have without this handler.
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        if n_seen and number == signal.SIGHUP:
            # A closed terminal is told twice: by the shell, and by the kernel when that ends.
            return
        n_seen += 1
        if n_seen > 1:
            _stop_at_once()
        raise KeyboardInterrupt

    before = {number: signal.signal(number, handle) for number in heard()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def heard() -> list[signal.Signals]:
    """Give the signals that stop a run: the end of the terminal unless nohup(1) started it."""
    # Never asked of Ctrl-C: a script ignores that for what it starts in the background.
    outlives = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [number for number in _SIGNALS if not (outlives and number == signal.SIGHUP)]


def _stop_at_once() -> NoReturn:
    try:
        # Nobody may read it any more: the terminal was closed, or Ctrl-C ended `tee`, too.
        with suppress(Exception):
            sys.stderr.write("taut: stopped at once; `taut doctor --clean` removes what is left\n")
            sys.stderr.flush()
    finally:
        os._exit(_INTERRUPTED)
