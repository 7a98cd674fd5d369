"""Processes that carry a variable in their environment: what a dead taut started is found by it."""

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from taut.testbed.sessions import Session

KILL_S = 60.0
_EXEC_TIMEOUT_S = 30.0
_START_CODE, _ENV_START, _ENV_END = 26 - 3, 50 - 3, 51 - 3
"""Fields of proc_pid_stat(5), which counts from 1, as found behind the program's name (3)."""


def carriers(name: str, value: str) -> list[int]:
    """Give the processes whose environment says name=value; never this one."""
    wanted = os.fsencode(f"{name}={value}")
    deadline = time.monotonic() + _EXEC_TIMEOUT_S
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = _environment(entry, deadline)
        except OSError:
            continue  # gone, somebody else's, or the kernel's
        if wanted in environment.split(b"\0"):
            found.append(int(entry.name))
    return found


def _environment(process: Path, deadline: float) -> bytes:
    """Read it; within execve(2), from the old program to the new, there is none: look again."""
    path = process / "environ"
    is_last = False
    while not (found := path.read_bytes()) and not is_last:
        (process / "exe").readlink()  # an OSError: it has ended, or is the kernel's
        if _was_started_with_none(process):
            break
        is_last = time.monotonic() > deadline
        time.sleep(0.001)
    return found


def _was_started_with_none(process: Path) -> bool:
    """Whether its environment has a place and no length; not before execve has put its code."""
    fields = (process / "stat").read_bytes().rpartition(b") ")[2].split()
    code, start, end = (fields[at] for at in (_START_CODE, _ENV_START, _ENV_END))
    return code != b"0" and start == end


def kill_carriers(name: str, value: str, within_s: float = KILL_S) -> list[str]:
    """Kill what carries it, and wait until it is gone, no longer than that; say what was killed."""
    removed = []
    deadline = time.monotonic() + within_s
    # A killed process may have forked a moment before: look again until none is left.
    while (pids := carriers(name, value)) and time.monotonic() < deadline:
        for pid in [*pids, *_led_by(pids)]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            removed.append(f"process {pid}")
        time.sleep(0.02)
    return sorted(set(removed))


def _led_by(pids: Sequence[int]) -> list[int]:
    """Give whom they started and who overwrote that environment, as stress-ng's workers do."""
    found: list[int] = []
    for pid in pids:
        with suppress(OSError):  # gone
            found += Session(pid).pids() if os.getsid(pid) == pid else []
    return [pid for pid in found if pid not in pids]
