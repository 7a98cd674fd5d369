"""Writer: the only code of taut that changes a host. Apply and undo alone hold one.

Tests give one that does to a folder what the kernel would do.
"""

import errno
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from taut.core.cpus import CpuSet
from taut.core.dying import die_with
from taut.host.host import Host


@dataclass(frozen=True)
class Writer:
    """Changes the machine a Host reads. Every method raises OSError when the machine refuses."""

    host: Host

    def write_file(self, path: str, text: str) -> None:
        """Write a file that is there, in one write(2): the kernel takes a value whole or not."""
        self._write(path, text, os.O_WRONLY)

    def put_file(self, path: str, text: str) -> None:
        """Make or replace a file, whole: written under another name, then renamed."""
        target = self._at(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.taut")
        with partial.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            partial.chmod(target.stat().st_mode & 0o7777)
        partial.rename(target)

    def remove_file(self, path: str) -> None:
        self._at(path).unlink()

    def make_folder(self, path: str) -> None:
        """Make a folder whose parent is there: a cgroup, a resctrl group."""
        self._at(path).mkdir()

    def remove_folder(self, path: str) -> None:
        """Remove an empty folder; of a cgroup, what the kernel shows in it does not count."""
        self._at(path).rmdir()

    def set_affinity(self, thread: int, cores: CpuSet) -> None:
        """Let a thread run on these cores only."""
        os.sched_setaffinity(thread, cores)

    def set_scheduler(self, thread: int, policy: int, priority: int) -> None:
        """Give a thread a policy (SCHED_FIFO ...) and a priority."""
        os.sched_setscheduler(thread, policy, os.sched_param(priority))

    def command(self, argv: Sequence[str], timeout_s: float | None = None) -> None:
        """Run a program that changes something: systemctl, ethtool, swapoff.

        One that takes longer than `timeout_s` is killed (ETIMEDOUT); None: there is no limit.
        """
        try:
            ended = subprocess.run(
                argv,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=timeout_s,
                # If we are killed, nothing may change any more, because undo may be looking.
                preexec_fn=partial(die_with, os.getpid()),
            )
        except FileNotFoundError as error:
            raise OSError(error.errno, f"no program {argv[0]}") from error
        except subprocess.TimeoutExpired:
            late = f"{' '.join(argv)}: not done after {timeout_s:g} s, ended"
            raise OSError(errno.ETIMEDOUT, late) from None
        if ended.returncode != 0:
            said = (ended.stderr.strip() or f"ended with status {ended.returncode}").splitlines()
            raise OSError(0, f"{' '.join(argv)}: {said[-1]}")

    def start_process(self, argv: Sequence[str]) -> IO[bytes]:
        """Start a program that outlives taut; give its standard input, where it waits for `go`.

        If we die before, it reads the end of the file and must end, too.
        """
        # Nobody waits for it: it outlives us, and init takes it over.
        child = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
            bufsize=0,
        )
        if child.stdin is None:
            raise OSError(0, f"{argv[0]}: no standard input")
        return child.stdin

    def end_process(self, process: int) -> None:
        """Ask a process to end; one that is already gone is no error."""
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)

    def _write(self, path: str, text: str, flags: int) -> None:
        descriptor = os.open(self._at(path), flags)
        try:
            os.write(descriptor, text.encode("utf-8", errors="surrogateescape"))
        finally:
            os.close(descriptor)

    def _at(self, path: str) -> Path:
        return self.host.root / path.lstrip("/")
