"""A program killed at a moment that may be short: stopped on sight, and looked at again."""

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from waiting import wait_for


def killed_at(moment: str, is_there: Callable[[], object], argv: Sequence[str]) -> bool:
    """Start a program and kill it, alone, at a moment: its children have to notice.

    All of it stands still when it is looked at for the last time. False: it was past the moment by
    then, and ended by itself.
    """
    with subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            wait_for(moment, lambda: is_there() or process.poll() is not None)
            _send(process.pid, signal.SIGSTOP)
            wait_for("a stop", lambda: _states(process.pid) <= {"T", "Z", "X"})
            if process.poll() is None and is_there():
                return True
            _send(process.pid, signal.SIGCONT)
            _, said = process.communicate(timeout=200)
            assert process.returncode == 0, said.decode()[-2000:]
        finally:
            process.kill()
            _send(process.pid, signal.SIGCONT)
    return False


def _send(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)


def _states(group: int) -> set[str]:
    """Give the states of all threads of a process group, as proc(5) has them."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/task/[0-9]*/stat"):
        with suppress(OSError):
            state, _, its_group = stat.read_text().rpartition(")")[2].split()[:3]
            if int(its_group) == group:
                found.add(state)
    return found
