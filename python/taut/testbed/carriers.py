"""Processes that carry a variable in their environment: what a dead taut started is found by it."""

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from taut.testbed.sessions import Session

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
