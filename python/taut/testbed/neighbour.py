"""A neighbour: other work on named cores while a trial is measured, and the proof that it was done.

stress-ng runs it: a worker for each stressor on each core. Its workers are named after their
stressor (`stress-ng-cache`), by which explain knows them. They overwrite their environment and so
carry no TAUT_RUN; cleanup finds them by the session that their parent leads.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from taut.core.cpus import CpuSet, format_cpu_list
from taut.core.errors import TrialError
from taut.records.documents.neighbour import NeighbourOfTrial, WorkOfStressor
from taut.testbed import netlink
from taut.testbed.process import Child, child
from taut.testbed.scope import RunScope
from taut.testbed.sessions import Session

PROGRAM = "stress-ng"
_WORK_FILE = "neighbour.yaml"
_START_TIMEOUT_S = 30.0
_STOP_TIMEOUT_S = 20.0
_POLL_S = 0.05
_LEAST_SHARE = 0.001
"""Of a core; one that waits for its disk most of the time took a thirtieth."""


@dataclass(frozen=True)
class Stressor:
    """One of stress-ng's stressors, by the name its table of metrics has for it."""

    name: str
    options: tuple[str, ...] = ()
    begun_ns: int = 1_000_000
    """Processor time in which a worker has done its first operation: waited for at the start."""


@dataclass(frozen=True)
class NeighbourKind:
    """What a neighbour does; without stressors it is nobody."""

    name: str
    """The word in an experiment file."""
    summary: str
    """One line for the documentation."""
    stressors: tuple[Stressor, ...] = ()
    uses_network: bool = False
    """Whether it gets a network namespace of its own, which needs root."""
    writes_files: bool = False
    """Whether it is judged by the bytes that reached a disk, too."""

    @property
    def is_idle(self) -> bool:
        """Whether it is the null member: nothing runs, and it is not mentioned."""
        return not self.stressors

    def missing(self) -> str | None:
        """Say what this machine lacks for it, and the remedy; None: nothing."""
        if self.is_idle:
            return None
        if shutil.which(PROGRAM) is None:
            return f"{PROGRAM}: program not found; apt-get install stress-ng"
        if self.uses_network and os.geteuid() != 0:
            return "a network namespace of its own needs root; run as root"
        return None


@dataclass(frozen=True)
class AskedNeighbour:
    """A neighbour as an experiment asks for it."""

    name: str
    """As the experiment calls it."""
    kind: NeighbourKind
    cores: CpuSet
    n_workers: int
    """Of each stressor on each core."""


@dataclass(frozen=True)
class _Reading:
    at_ns: int
    cpu_ns: int
    written_bytes: int


class RunningNeighbour:
    """A neighbour that works; `finish` stops it and judges what it did."""

    def __init__(self, asked: AskedNeighbour, program: Child, work: Path) -> None:
        self._asked = asked
        self._program = program
        self._work = work
        self._session = Session(program.pid)
        self._began = self._read()

    @property
    def pid(self) -> int:
        """The process id of stress-ng, whose workers are its children."""
        return self._program.pid

    def alive(self) -> bool:
        """Whether it still runs."""
        return self._program.alive()

    def died(self) -> TrialError:
        """Say that it ended before it was told to, and how."""
        return self._failed(f"died during the trial: {self._program.describe_end()}")

    def wait_busy(self) -> None:
        """Wait until all could have done something; TrialError: it ended, or got no time."""
        n_workers = len(self._asked.kind.stressors) * self._asked.n_workers * len(self._asked.cores)
        of_all_ns = sum(stressor.begun_ns for stressor in self._asked.kind.stressors)
        least_ns = of_all_ns * self._asked.n_workers * len(self._asked.cores)
        until = time.monotonic() + _START_TIMEOUT_S
        while self._session.n_processes() <= n_workers or self._session.cpu_ns() < least_ns:
            if not self.alive():
                raise self._failed(f"died at start: {self._program.describe_end()}")
            if time.monotonic() > until:
                raise self._failed(
                    f"got no time of core {format_cpu_list(self._asked.cores)} in "
                    f"{_START_TIMEOUT_S:g} s; does a thread of real-time priority run there?"
                )
            time.sleep(_POLL_S)

    def begin(self) -> None:
        """Note what it has done so far: what counts is what it does from here to `finish`."""
        self._began = self._read()

    def finish(self) -> NeighbourOfTrial:
        """Stop it and say what it did; TrialError: it died, or did nothing."""
        if not self.alive():
            raise self.died()
        ended = self._read()
        worked_ns, elapsed_ns = ended.cpu_ns - self._began.cpu_ns, ended.at_ns - self._began.at_ns
        if worked_ns < _LEAST_SHARE * elapsed_ns:
            raise self._failed(
                f"took {worked_ns / 1e6:.3g} ms of its cores in {elapsed_ns / 1e9:.1f} s; does a "
                "thread of real-time priority run there?"
            )
        self._program.stop(signal.SIGINT, _STOP_TIMEOUT_S)
        with suppress(OSError):
            shutil.copy(self._work, self._program.log.parent / _WORK_FILE)
        found = NeighbourOfTrial(
            name=self._asked.name,
            kind=self._asked.kind.name,
            cores=self._asked.cores,
            n_workers=self._asked.n_workers,
            program=_version(),
            elapsed_ns=elapsed_ns,
            cpu_ns=worked_ns,
            written_bytes=ended.written_bytes - self._began.written_bytes,
            work=read_work(self._work),
        )
        self._judge(found)
        return found

    def _judge(self, found: NeighbourOfTrial) -> None:
        """Hold it to its own counters: each stressor's operations, and bytes written."""
        done = {work.stressor: work.n_operations for work in found.work}
        for stressor in self._asked.kind.stressors:
            if not done.get(stressor.name):
                raise self._failed(
                    f"{stressor.name} did nothing: 0 of its own operations in "
                    f"{found.elapsed_ns / 1e9:.1f} s; measure for longer, or give it other cores"
                )
        if self._asked.kind.writes_files and not found.written_bytes:
            raise self._failed(
                f"no byte reached a disk from {self._work.parent}; is that a file system in "
                "memory? give another --out"
            )

    def _failed(self, why: str) -> TrialError:
        return TrialError(f"neighbour {self._asked.name!r}: {why}", self._program.tail())

    def _read(self) -> _Reading:
        session = self._session
        return _Reading(time.monotonic_ns(), session.cpu_ns(), session.written_bytes())


@contextmanager
def running(
    asked: AskedNeighbour, folder: Path, logs: Path, scope: RunScope
) -> Iterator[RunningNeighbour]:
    """Start a neighbour; entered when all its workers work, none is left afterwards.

    `folder` is where it writes: files of the disk's neighbour, and what it counted.
    """
    folder.mkdir(parents=True)
    work = folder / _WORK_FILE
    with ExitStack() as stack:
        netns = stack.enter_context(scope.namespace("nb")) if asked.kind.uses_network else None
        if netns is not None:
            netlink.bring_up("lo", netns)
        program = stack.enter_context(
            child(
                PROGRAM,
                _command_line(asked, folder, work),
                scope=scope,
                log=logs / "neighbour.log",
                cores=asked.cores,
                netns=netns,
            )
        )
        neighbour = RunningNeighbour(asked, program, work)
        neighbour.wait_busy()
        yield neighbour


def _command_line(asked: AskedNeighbour, folder: Path, work: Path) -> list[str]:
    n = str(asked.n_workers * len(asked.cores))
    argv = [PROGRAM, "--timeout", "0", "--log-brief", "--metrics", "--yaml", str(work)]
    argv += ["--temp-path", str(folder)]
    for stressor in asked.kind.stressors:
        argv += [f"--{stressor.name}", n, *stressor.options]
    return argv


def read_work(path: Path) -> tuple[WorkOfStressor, ...]:
    """Read what stress-ng counted (its --yaml, flat and of one form); empty: it wrote nothing."""
    found: list[dict[str, str]] = []
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    for line in text.partition("metrics:")[2].splitlines():
        key, colon, value = line.strip().removeprefix("- ").partition(": ")
        if not colon:
            continue
        if key == "stressor":
            found.append({})
        found[-1][key] = value.strip()
    return tuple(_work_of(values) for values in found)


_KNOWN = ("stressor", "bogo-ops", "wall-clock-time", "user-time", "system-time", "max-rss")


def _work_of(values: dict[str, str]) -> WorkOfStressor:
    def ns(key: str) -> int:
        return round(float(values.get(key, 0)) * 1e9)

    others = {key: float(value) for key, value in values.items() if key not in _KNOWN}
    return WorkOfStressor(
        stressor=values["stressor"],
        n_operations=int(values.get("bogo-ops", 0)),
        elapsed_ns=ns("wall-clock-time"),
        user_ns=ns("user-time"),
        system_ns=ns("system-time"),
        max_rss_kib=int(values.get("max-rss", 0)),
        rates={key.replace("-", "_"): value for key, value in others.items()},
    )


def _version() -> str:
    done = subprocess.run(
        [PROGRAM, "--version"], capture_output=True, text=True, check=False
    ).stdout
    return done.partition(" (")[0].replace(", version", "").strip()
