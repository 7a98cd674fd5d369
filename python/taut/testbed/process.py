"""Child processes of a run: pinned, in a namespace, logged, and never outliving taut.

The chain setpriv -> nsenter -> taskset -> program execs at every step, so the pid is the
program's. setpriv's death signal is sent when the *thread* that started the child ends: start
children from a thread that lives as long as the run.
"""

import os
import re
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from taut.core.cpus import format_cpu_list
from taut.core.errors import TrialError
from taut.testbed.netlink import NETNS_FOLDER
from taut.testbed.scope import RunScope

_POLL_S = 0.01


class Child:
    """A program that taut started, its output in a log file."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], log: Path) -> None:
        self.name = name
        self.log = log
        self._process = process

    @property
    def pid(self) -> int:
        """The program's process id."""
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """None while it runs; below 0 the signal that ended it."""
        return self._process.poll()

    def alive(self) -> bool:
        """Whether it still runs."""
        return self.exit_status is None

    def send(self, number: signal.Signals) -> None:
        """Send a signal; a program that has ended gets none."""
        self._process.send_signal(number)

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
            self.send(signal.SIGKILL)
        return self._process.wait()

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
                    f"{self.name}: not ready after {timeout_s:g} s (no {pattern!r} in its log)",
                    self.tail(),
                )
            time.sleep(_POLL_S)

    def describe_end(self) -> str:
        """Say how it ended, in words."""
        status = self.exit_status
        if status is None:
            return "still runs"
        if status < 0:
            return f"killed by {signal.Signals(-status).name}"
        return f"ended with exit status {status}"


@contextmanager
def child(
    name: str,
    argv: Sequence[str | Path],
    *,
    scope: RunScope,
    log: Path,
    cores: Sequence[int] = (),
    netns: str | None = None,
    environment: Mapping[str, str] | None = None,
    keep_stdin_open: bool = False,
    line_buffered: bool = False,
    working_folder: Path | None = None,
) -> Iterator[Child]:
    """Run a program on the given cores; it is dead when the block is left.

    `line_buffered` is for programs whose output says that they are ready: otherwise it would reach
    the log file only in whole blocks.
    """
    buffering = ["stdbuf", "--output=L"] if line_buffered else []
    command = [*_launcher(cores, netns, scope.join), *buffering, *map(str, argv)]
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE if keep_stdin_open else subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {}), **scope.environment},
            cwd=working_folder,
            # Its own session: Ctrl-C at the terminal reaches taut only, which stops the trial.
            start_new_session=True,
        )
    _pass_nice_on(process.pid)
    started = Child(name, process, log)
    try:
        yield started
    finally:
        started.close()


def _pass_nice_on(session: int) -> None:
    """Give the session of a child the nice value of this process.

    Where the kernel schedules by session (sched(7), autogroup), a new session begins at 0, and the
    nice value that a child inherits counts only inside it: `nice -n -20 taut run` would be in vain.
    """
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    group = Path(f"/proc/{session}/autogroup")
    if nice == 0 or not group.exists():
        return
    with suppress(OSError):  # not allowed, or the child has ended: it runs as it would without
        group.write_text(str(nice))


def _launcher(cores: Sequence[int], netns: str | None, join: Mapping[int, str]) -> list[str]:
    command = ["setpriv", "--pdeathsig", "KILL", "--"]
    group = next((join[core] for core in cores if core in join), None)
    if group is not None:
        command += ["sh", "-c", 'echo 0 >"$0" && exec "$@"', group]
    if netns is not None:
        command += ["nsenter", f"--net={NETNS_FOLDER / netns}", "--"]
    if cores:
        command += ["taskset", "--cpu-list", format_cpu_list(cores)]
    return command
