"""Child processes of a run: pinned, in a namespace, logged, and never outliving taut.

The chain setpriv -> nsenter -> taskset -> program execs at every step, so the pid is the
program's. setpriv's death signal is sent when the *thread* that started the child ends: start
children from a thread that lives as long as the run.
"""

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from taut.core.cpus import format_cpu_list
from taut.testbed.netlink import NETNS_FOLDER
from taut.testbed.program import Child, Program
from taut.testbed.scope import RunScope
from taut.testbed.sessions import Session

__all__ = ["Child", "child", "pass_nice_on", "popen", "started_here"]


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
) -> Iterator[Child]:
    """Run a program on the given cores, in the scope's place; it is dead when the block is left.

    `line_buffered` is for programs whose output says that they are ready: otherwise it would reach
    the log file only in whole blocks.
    """
    program = Program(
        name=name,
        argv=tuple(map(str, argv)),
        log=log,
        cores=tuple(cores),
        netns=netns,
        environment=environment or {},
        keep_stdin_open=keep_stdin_open,
        line_buffered=line_buffered,
    )
    place = scope.place
    with started_here(program, scope) if place is None else place.started(program) as started:
        yield started


@contextmanager
def started_here(program: Program, scope: RunScope) -> Iterator[Child]:
    """Run a program on the host itself; it is dead when the block is left, and all it started."""
    process = popen(program, scope)
    started = Child(program.name, process, program.log)
    try:
        yield started
    finally:
        started.close()
        # Of `sh -c "prepare; forward"` only the shell was closed, and nothing may outlive a trial.
        Session(process.pid).end()


def popen(program: Program, scope: RunScope) -> subprocess.Popen[bytes]:
    """Start a program on the host itself, with the run's mark, its output in its log."""
    buffering = ["stdbuf", "--output=L"] if program.line_buffered else []
    command = [*_launcher(program), *buffering, *program.argv]
    program.log.parent.mkdir(parents=True, exist_ok=True)
    with program.log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE if program.keep_stdin_open else subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **program.environment, **scope.environment},
            # Its own session: Ctrl-C at the terminal reaches taut only, which stops the trial.
            start_new_session=True,
        )
    pass_nice_on(process.pid)
    return process


def pass_nice_on(session: int) -> None:
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


def _launcher(program: Program) -> list[str]:
    command = ["setpriv", "--pdeathsig", "KILL", "--"]
    if program.netns is not None:
        command += ["nsenter", f"--net={NETNS_FOLDER / program.netns}", "--"]
    if program.cores:
        command += ["taskset", "--cpu-list", format_cpu_list(program.cores)]
    return command
