"""Processes that carry a variable in their environment: what a dead taut started is found by it."""

import os
import signal
import time
from pathlib import Path

_KILL_TIMEOUT_S = 5.0


def carriers(name: str, value: str) -> list[int]:
    """Give the processes whose environment says name=value; never this one."""
    wanted = os.fsencode(f"{name}={value}")
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue  # gone, or somebody else's
        if wanted in environment.split(b"\0"):
            found.append(int(entry.name))
    return found


def kill_carriers(name: str, value: str) -> list[str]:
    """Kill what carries it; say what was killed."""
    removed = []
    deadline = time.monotonic() + _KILL_TIMEOUT_S
    # A killed process may have forked a moment before: look again until none is left.
    while (pids := carriers(name, value)) and time.monotonic() < deadline:
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            removed.append(f"process {pid}")
        time.sleep(0.02)
    return sorted(set(removed))
