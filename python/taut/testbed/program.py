"""Programs of a run: what is to be started, one that runs, and a place that starts some."""

import os
import re
import signal
import subprocess
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from taut.core.errors import TrialError
from taut.records.documents.trial import Guest

_POLL_S = 0.01


@dataclass(frozen=True)
class Program:
    """A program that is to be started, and on what."""

    name: str
    argv: Sequence[str]
    log: Path
    cores: Sequence[int] = ()
    """Where it may run; empty: wherever taut may."""
    netns: str | None = None
    """The network namespace it belongs in."""
    environment: Mapping[str, str] = field(default_factory=dict)
    keep_stdin_open: bool = False
    line_buffered: bool = False
    """Its output says that it is ready: otherwise that would reach the log only in whole blocks."""


class Child:
    """A program that taut started, its output in a log file."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], log: Path) -> None:
        self.name = name
        self.log = log
        self._process = process
        self.killed_after_s: float | None = None
        """For how long stop() waited in vain; None: it ended by itself."""

    @property
    def pid(self) -> int:
        """The program's process id."""
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """None while it runs; below 0 the signal that ended it."""
        return self._read_status(self._process.poll())

    def _read_status(self, status: int | None) -> int | None:
        """Give the program's status by that of the process that taut started: here they are one."""
        return status

    def alive(self) -> bool:
        """Whether it still runs."""
        return self.exit_status is None

    def send(self, number: signal.Signals) -> None:
        """Send a signal, as Ctrl-C does: to what it started, too; one that has ended gets none.

        A script that calls the program without `exec` waits for it, and passes nothing on. taut's
        own keepers of what they put back have sessions of their own.
        """
        if self._process.poll() is None:
            os.killpg(self._process.pid, number)  # it leads its session (process.py)

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait for its end; None when it has not ended in time."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def stop(self, number: signal.Signals = signal.SIGINT, timeout_s: float = 10.0) -> int:
        """Send `number`, after `timeout_s` seconds SIGKILL; give its exit status."""
        if self.alive():
            self.send(number)
            # A stopped program (SIGSTOP) takes its signal only when it continues.
            self.send(signal.SIGCONT)
        if self.wait(timeout_s) is None:
            self.killed_after_s = timeout_s
            self.send(signal.SIGKILL)
        return self._read_status(self._process.wait()) or 0

    def close(self) -> None:
        """Kill it if it still runs and let go of its pipes."""
        if self.alive():
            self.send(signal.SIGKILL)
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()

    def log_text(self) -> str:
        """Everything it wrote so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def tail(self, n_lines: int = 20) -> list[str]:
        """Give the last lines it wrote, without empty ones."""
        # A log may be long; its end is enough.
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - 65536))
            text = file.read().decode("utf-8", errors="replace")
        return list(deque((line for line in text.splitlines() if line.strip()), maxlen=n_lines))

    def wait_ready(self, pattern: str, timeout_s: float = 30.0) -> None:
        """Wait until its log matches; TrialError with the log's end when it dies or is too slow."""
        wanted = re.compile(pattern, re.MULTILINE)
        deadline = time.monotonic() + timeout_s
        while True:
            alive = self.alive()  # asked first: a program may say it is ready and end
            if wanted.search(self.log_text()):
                return
            if not alive:
                raise TrialError(f"{self.name}: {self.describe_end()} at start", self.tail())
            if time.monotonic() > deadline:
                raise TrialError(
                    f"{self.name}: not ready after {timeout_s:g} s (no {pattern!r} in its log"
                    f"{self._describe_wait()})",
                    self.tail(),
                )
            time.sleep(_POLL_S)

    def _describe_wait(self) -> str:
        """Say in which state it is, and in which function of the kernel, as far as /proc tells."""
        found = []
        with suppress(OSError):
            state = re.search(
                r"^State:\s*(.*)$", Path(f"/proc/{self.pid}/status").read_text(), re.M
            )
            found += [state[1]] if state else []
            where = Path(f"/proc/{self.pid}/wchan").read_text()
            found += [f"in {where}"] if where not in ("", "0") else []
        return "".join(f", {words}" for words in found)

    def describe_end(self) -> str:
        """Say how it ended, in words."""
        status = self.exit_status
        if status is None:
            return "still runs"
        if status < 0:
            return f"killed by {signal.Signals(-status).name}"
        return f"ended with exit status {status}"


class Place(Protocol):
    """Where programs of a device are started: in a container, in a guest."""

    @property
    def notes(self) -> Sequence[str]:
        """What holds of the place, for the trial's document: its rights, what it went without."""
        ...

    @property
    def guest(self) -> Guest | None:
        """The virtual machine that the place is; None: none. Whole when the device has stopped."""
        ...

    @property
    def events(self) -> Path | None:
        """A folder with what a guest's kernel noted, on the host's clock; None: nothing."""
        ...

    def started(self, program: Program) -> AbstractContextManager[Child]:
        """Start a program there; it is dead when the block is left.

        The child's pid is the program's on the host, or that of what runs it (a guest's QEMU):
        explain finds its threads by it.
        """
        ...
