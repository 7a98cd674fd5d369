"""A program that taut did not start: which threads are watched, and what the watch needs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from taut.core.cpus import CpuSet, cpuset_cores, format_cpu_list, parse_shown_list
from taut.core.credentials import hide_in
from taut.core.errors import InputError, MissingToolError, TautError
from taut.experiment import leftovers, tracing
from taut.experiment.progress import Progress
from taut.experiment.runner import measuring_into, pinned_to
from taut.explain.window import threads_on
from taut.host.apart import cores_apart
from taut.host.audit import as_document, check_cores, find_situation, run_audit
from taut.host.fingerprint import fingerprint
from taut.host.host import Host
from taut.host.settings.cpuset_partition import cpuset_root
from taut.host.situation import Situation
from taut.host.state import HostStates, describe_applied, refuse_applied
from taut.host.threads import start_ticks
from taut.host.writer import Writer
from taut.records.documents.manifest import ProcessOfRun, SpecOfRun, ThreadOfRun
from taut.records.manifest import make_manifest, write_manifest
from taut.testbed.core_locks import measuring_on, refuse_others
from taut.testbed.scope import RunScope


@dataclass(frozen=True)
class Process:
    """The process under watch; threads have their start, since ids are used again."""

    pid: int
    comm: str
    command: str
    """As it was started, with passwords blotted out."""
    started: int | None
    """When its first thread started, as in `starts`."""
    threads: Mapping[int, int]
    """By core, the thread that is pinned there."""
    starts: Mapping[int, int | None] = field(default_factory=dict)
    """By thread, when it started, in clock ticks since boot."""

    @property
    def cores(self) -> CpuSet:
        """The cores its threads are pinned to."""
        return tuple(sorted(self.threads))

    def check(self, host: Host) -> None:
        """Raise TautError if it, or a thread under watch, is gone or no longer pinned."""
        gone = [t for t, start in self.starts.items() if not _lives(host, t, start)]
        who = f"process {self.pid} ({self.comm})"
        if gone and _lives(host, self.pid, self.started):
            who = f"thread {gone[0]} of {who}"
        if gone:
            raise TautError(f"{who} ended while it was measured: the host is as it was")
        for core, thread in self.threads.items():
            allowed = host.fields(f"/proc/{thread}/status").get("Cpus_allowed_list", "")
            if parse_shown_list(allowed) != (core,):
                raise TautError(
                    f"thread {thread} of {who} was moved from core {core} to {allowed} while it "
                    "was measured: the host is as it was"
                )

    def document(self) -> ProcessOfRun:
        """Give what manifest.json says of it."""
        return ProcessOfRun(
            pid=self.pid,
            comm=self.comm,
            command_line=self.command,
            threads=tuple(
                ThreadOfRun(core, thread, self.starts.get(thread))
                for core, thread in sorted(self.threads.items())
            ),
        )


@dataclass(frozen=True)
class Watch:
    """A watch that is under way."""

    process: Process
    host: Host
    states: HostStates
    folder: Path
    """Where the windows and trim.json go: not emptied, and not removed at the end."""
    scratch: Path
    """The folder for what is removed at the end."""
    environment: Mapping[str, str]
    """The environment of programs started for the watch."""


def find_process(host: Host, pid: int, cores: CpuSet | None) -> Process:
    """Find the process and its threads on these cores (None: on any); InputError: none."""
    threads = threads_on(host, pid, cores)
    check_cores(tuple(sorted(threads)), host.online_cores())
    words = (host.read(f"/proc/{pid}/cmdline") or "").replace("\0", " ").split()
    return Process(
        pid=pid,
        comm=host.read(f"/proc/{pid}/comm") or "",
        command=" ".join(hide_in(words)),
        started=start_ticks(host, pid),
        threads=threads,
        starts={thread: start_ticks(host, thread) for thread in threads.values()},
    )


def never_tried(host: Host) -> dict[str, str]:
    """Give the remedies that would move the process itself, and why each is left out."""
    if cpuset_root(host) is None:
        return {}
    return {
        "K04-now": "K04-now is not tried: with version 2 of control groups a program that runs "
        "already loses the cores of a new partition; start it in the group to measure that."
    }


@contextmanager
def watching(
    process: Process,
    out: Path,
    progress: Progress,
    *,
    seed: int,
    command_line: tuple[str, ...] = (),
    wait: bool = False,
) -> Iterator[Watch]:
    """Take what a watch needs, and give all of it back, the host's state first, however it ends.

    InputError: another measurement holds one of the cores or `out`, where something is already, an
    apply made by hand is in force, another run is alive, or this machine cannot be traced.
    """
    host = Host()
    cannot = tracing.why_not()
    if cannot is not None:
        raise MissingToolError(f"--pid measures by tracing: {cannot}")
    with (
        _made(out),
        measuring_on(process.cores, wait=wait, waiting=progress.warned),
        RunScope() as scope,
    ):
        leftovers.clean(scope.base, host)
        refuse_applied(host)
        refuse_others(host.online_cores())
        holder = leftovers.holder_of(scope.id)
        situation = partial(situation_of, host, process)
        states = HostStates(host, Writer(host), situation, holder, progress.warned)
        own = _own_core(host, process)
        with states, pinned_to(own):
            _describe(out, process, host, seed, command_line)
            progress.noted(
                f"Watching {process.comm} ({process.pid}): "
                + ", ".join(f"thread {t} on core {c}" for c, t in process.threads.items())
                + f"; taut runs on core {own}."
            )
            yield Watch(process, host, states, out, scope.folder, scope.environment)


def situation_of(host: Host, process: Process) -> Situation:
    """What the host is judged for: the process polls on its cores, whatever its name is."""
    found = find_situation(host, cores=process.cores)
    return replace(found, processes=tuple(sorted({*found.processes, process.pid})))


def _lives(host: Host, thread: int, started: int | None) -> bool:
    """Whether a thread is alive and the same one: not a later one of its id, and no zombie."""
    return started is not None and start_ticks(host, thread) == started


def _own_core(host: Host, process: Process) -> int:
    """Find a core for taut: not watched and, if possible, not set apart and no watched sibling."""
    free = [core for core in cpuset_cores() if core not in process.threads]
    if not free:
        raise InputError(
            f"cores {format_cpu_list(process.cores)}: no other core is left for taut itself"
        )
    apart = cores_apart(host)
    beside = {
        sibling
        for core in process.cores
        for sibling in host.cores(
            f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list"
        )
    }
    return min(free, key=lambda core: (core in apart, core in beside, core))


@contextmanager
def _made(out: Path) -> Iterator[None]:
    """Make a folder, and hold it before anything is waited for; one left empty is removed again."""
    made = [folder for folder in (out, *out.parents) if not folder.exists()]
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{out}: cannot be written: {error.strerror}; give another --out"
        ) from None
    with measuring_into(out):
        if any(out.iterdir()):
            raise InputError(f"{out}: not empty; give another --out")
        try:
            yield
        finally:
            with suppress(OSError):  # Not empty: the first that is not keeps its parents.
                for folder in made:
                    folder.rmdir()


def _describe(
    out: Path, process: Process, host: Host, seed: int, command_line: tuple[str, ...]
) -> None:
    document = make_manifest(
        host=fingerprint(host),
        spec=SpecOfRun(name=f"trim-pid-{process.pid}"),
        seeds={"order": seed},
        command_line=command_line,
    )
    whole = replace(
        document,
        audit=as_document(run_audit(host, situation_of(host, process))),
        applied=describe_applied(host),
        process=process.document(),
        cores=format_cpu_list(process.cores),
    )
    write_manifest(out, whole)
