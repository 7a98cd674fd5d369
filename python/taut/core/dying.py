"""A process that never outlives the one that started it."""

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1  # prctl(2)
# Opened here: between fork and exec nothing may be that takes a lock.
_LIBC = ctypes.CDLL(None, use_errno=True)


def die_with(parent: int) -> None:
    """Have this new process killed when its parent is; where that is gone already, end it.

    `parent` is its number, asked for in the parent itself: who lost it has another, not always 1,
    and in a container 1 may be taut. What a killed taut leaves: docs/architecture.md.
    """
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
