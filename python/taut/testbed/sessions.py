"""Sessions of processes: all that a program started, whatever became of their environment.

A child of a run leads a session of its own (process.py). A worker that overwrites its environment,
as programs do that show what they work on in `ps`, is still in it.
"""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from taut.core.processes import living_fields

_KILL_TIMEOUT_S = 60.0
_PROC = Path("/proc")


class Session:
    """The processes of one session, by the id of its leader."""

    def __init__(self, leader: int) -> None:
        self._leader = leader

    def pids(self) -> list[int]:
        """Give those that are alive."""
        return list(self._stats())

    def n_processes(self) -> int:
        """Count those that are alive."""
        return len(self._stats())

    def cpu_ns(self) -> int:
        """Give the processor time they took so far, with that of children they waited for."""
        tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
        total = 0
        for pid, fields in self._stats().items():
            # Fields 14 to 17 of proc(5): utime, stime, cutime, cstime, all in ticks.
            utime, stime, cutime, cstime = map(int, fields[11:15])
            exact = _ran_ns(pid)
            total += (utime + stime) * tick_ns if exact is None else exact
            total += (cutime + cstime) * tick_ns
        return total

    def written_bytes(self) -> int:
        """Give the bytes they sent to disks so far, of those that are alive."""
        total = 0
        for pid in self.pids():
            with suppress(OSError, ValueError):
                text = (_PROC / str(pid) / "io").read_text(encoding="ascii")
                total += int(text.partition("\nwrite_bytes: ")[2].split()[0])
        return total

    def end(self) -> list[int]:
        """Kill all of them; give whom."""
        killed: list[int] = []
        deadline = time.monotonic() + _KILL_TIMEOUT_S
        # A killed process may have forked a moment before: look again until none is left.
        while (pids := self.pids()) and time.monotonic() < deadline:
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
            time.sleep(0.02)
        return sorted(set(killed))

    def _stats(self) -> dict[int, list[str]]:
        """Give what /proc/PID/stat says behind the name, of each that is alive."""
        found = {}
        for entry in _PROC.iterdir():
            fields = living_fields(int(entry.name)) if entry.name.isdigit() else []
            if fields and int(fields[3]) == self._leader:
                found[int(entry.name)] = fields
        return found


def _ran_ns(pid: int) -> int | None:
    """Give the time all threads of a process ran, to the nanosecond; None: not told here."""
    try:
        threads = [*(_PROC / str(pid) / "task").iterdir()]
        return sum(
            int((one / "schedstat").read_text(encoding="ascii").split()[0]) for one in threads
        )
    except (OSError, ValueError, IndexError):
        return None  # it has ended, or the kernel keeps no such account
