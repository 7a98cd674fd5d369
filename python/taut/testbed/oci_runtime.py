"""A container runtime by the OCI's interface (runc, crun): programs in containers it makes.

https://github.com/opencontainers/runc: `run` makes the container of a bundle, starts its program
and waits for it; taut sends signals to the program itself.
"""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

from taut.core.errors import TrialError
from taut.testbed.control_groups import remove_groups
from taut.testbed.leftovers import probe_name
from taut.testbed.oci_bundle import Bundle, write_bundle
from taut.testbed.process import pass_nice_on, popen
from taut.testbed.program import Child, Program
from taut.testbed.scope import RunScope
from taut.testbed.scratch import Scratch

RUNTIMES = ("runc", "crun")
"""Those that are known to work, the first choice first."""

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Of the environment in a container."""

_START_S = 60.0
_POLL_S = 0.005


def find_runtime(name: str | None) -> str | None:
    """Give the path of that runtime, else of the first that works here, else of the first."""
    found = [path for path in map(shutil.which, RUNTIMES if name is None else (name,)) if path]
    return next((path for path in found if cannot_run(path) is None), next(iter(found), None))


@cache
def version_of(runtime: str) -> str:
    """Give the first line of what it says of its version."""
    done = subprocess.run([runtime, "--version"], capture_output=True, text=True, check=False)
    return next(iter(done.stdout.splitlines()), "unknown")


@cache
def cannot_run(runtime: str) -> str | None:
    """Say why no container can be made here, which only one that is made tells; None: it can."""
    name = probe_name()
    bundle = Bundle(
        argv=["/usr/bin/true"],
        environment={"PATH": PATH},
        root=None,
        read=(),
        written=(),
        capabilities=(),
        netns=None,
        cgroup=f"/{name}" if os.geteuid() == 0 else None,
        cpus="",
    )
    with Scratch("container", sweeping=False) as folder:
        write_bundle(folder / "c", bundle)
        argv = [
            runtime,
            "--root",
            str(folder / "state"),
            "run",
            "--bundle",
            str(folder / "c"),
            name,
        ]
        try:
            done = subprocess.run(
                argv, capture_output=True, text=True, check=False, timeout=_START_S
            )
        except subprocess.TimeoutExpired:
            remove_groups(name)
            return f"{runtime} cannot make a container here: none ran in {_START_S:g} s"
    if done.returncode == 0:
        return None
    said = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
    return f"{runtime} cannot make a container here: {_message_of(said)}"


def _message_of(line: str) -> str:
    """Give what a runtime says without what only logs are read for."""
    found = re.search(r'msg="((?:[^"\\]|\\.)*)"', line)
    return found[1].replace('\\"', '"') if found else line


@contextmanager
def contained(
    program: Program, bundle: Bundle, runtime: str, name: str, scope: RunScope
) -> Iterator[Child]:
    """Run a program in a container of that name; both are gone when the block is left."""
    folder = scope.folder / name
    write_bundle(folder, bundle)
    pid_file = folder / "pid"
    # The runtime itself, which only waits, stays on taut's core, and in its namespaces.
    waiting = replace(
        program,
        argv=[
            runtime,
            *("--root", str(scope.folder / "containers")),
            *("run", "--bundle", str(folder), "--pid-file", str(pid_file), name),
        ],
        cores=(),
        netns=None,
        environment={},
        line_buffered=False,
    )
    process = popen(waiting, scope)
    started = None
    try:
        started = Contained(program, process, _wait_for_pid(program, process, pid_file))
        pass_nice_on(started.pid)
        yield started
    finally:
        _end(started, process)
        remove_groups(name)
        shutil.rmtree(folder, ignore_errors=True)


class Contained(Child):
    """A program in a container; what taut started is the runtime, which waits for it."""

    def __init__(self, program: Program, runtime: subprocess.Popen[bytes], pid: int) -> None:
        super().__init__(program.name, runtime, program.log)
        self._pid = pid
        with suppress(ProcessLookupError):
            self._handle: int | None = None
            self._handle = os.pidfd_open(pid)

    @property
    def pid(self) -> int:
        """The program's process id on the host."""
        return self._pid

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the program.

        The kernel gives the first process of a PID namespace none that it does not handle: what
        would end the program on the host ends it here.
        """
        if self._handle is None:
            return
        ends = number in (signal.SIGINT, signal.SIGTERM) and not _handles(self._pid, number)
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL if ends else number)

    def close(self) -> None:
        """Kill it if it still runs."""
        super().close()
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _read_status(self, status: int | None) -> int | None:
        """Runtimes give 128 and the signal's number where one ended the program."""
        killed = status is not None and status > 128 and status - 128 in set(signal.Signals)
        return 128 - status if killed and status is not None else status


def _wait_for_pid(program: Program, process: subprocess.Popen[bytes], pid_file: Path) -> int:
    """Give the program's process id once the runtime has started it."""
    deadline = time.monotonic() + _START_S
    has_ended = False
    while not has_ended:
        has_ended = process.poll() is not None or time.monotonic() > deadline
        with suppress(OSError, ValueError):
            return int(pid_file.read_text())
        time.sleep(_POLL_S)
    tail = Child(program.name, process, program.log).tail()
    raise TrialError(f"{program.name}: its container did not start", tail)


def _end(started: Contained | None, process: subprocess.Popen[bytes]) -> None:
    if started is not None:
        started.close()
    elif process.poll() is None:
        process.kill()
        process.wait()


def _handles(pid: int, number: signal.Signals) -> bool:
    """Whether a process has a handler for a signal."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True
    caught = next((line for line in status.splitlines() if line.startswith("SigCgt:")), "SigCgt: 0")
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)
