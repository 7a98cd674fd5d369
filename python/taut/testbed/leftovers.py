"""What killed programs left in the kernel, where no run's folder names it.

taut-trace and `taut host audit --trace` make trace instances, taut-inject a control group; all
carry the number of the process that made them, and the PID namespace that it is from: containers
share what the kernel has, not numbers, so that of another one nobody can tell whether it lives.
Each program removes its own, and when it starts those of dead ones; this module is for machines
where it does not start again. The container by which taut asks a runtime whether it works has
control groups before there is a run (oci_runtime.py).
"""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from taut.core.processes import process_start_time
from taut.core.trace_names import AUDIT, TRACE
from taut.testbed.control_groups import find_groups, remove_groups
from taut.testbed.owner import pid_namespace

_TRACEFS = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
# As in dataplane/inject/cpu_group.c; in the names of an older taut there is no namespace.
_GROUP = re.compile(r"taut-inject-(\d+)(?:-(?P<namespace>\d+))?")
_PROBE = re.compile(r"taut-probe-(\d+)-(\d+)(?:-(?P<namespace>\d+))?")
# An instance may exist without tracefs being mounted: look in a mount namespace of our own.
_MOUNTED = 'mount -t tracefs -o nosuid,nodev,noexec tracefs "$0" && exec "$@"'


@dataclass(frozen=True)
class Places:
    """Where to look; tests have their own."""

    tracefs: Sequence[Path] = _TRACEFS
    mounts: Path = Path("/proc/mounts")
    processes: Path = Path("/proc")


def probe_name() -> str:
    """Name the container by which this process asks a runtime whether it works."""
    pid = os.getpid()
    namespace = Path("/proc/self/ns/pid").stat().st_ino
    return f"taut-probe-{pid}-{process_start_time(pid)}-{namespace}"


@dataclass(frozen=True)
class Leftover:
    """One thing whose maker is dead."""

    what: str
    path: Path

    def __str__(self) -> str:
        return f"{self.what} {self.path}"


def find_leftovers(places: Places = Places()) -> list[Leftover]:
    """Trace instances and control groups of dead programs."""
    return [*_instances(places), *_groups(places), *_probes(places)]


def remove_leftovers(places: Places = Places()) -> list[str]:
    """Remove what dead programs left; give the names of what was removed."""
    found = find_leftovers(places)
    for leftover in found:
        if _GROUP.fullmatch(leftover.path.name):
            _empty(leftover.path, places)
        if _PROBE.fullmatch(leftover.path.name):
            remove_groups(leftover.path.name, places.mounts)
        # The kernel removes such a folder with all that is in it.
        with suppress(OSError):
            leftover.path.rmdir()
    if any(leftover.path.parent.name == "instances" for leftover in found):
        _in_tracefs(places, ["rmdir", *(str(of.path) for of in _instances(places))])
    left = find_leftovers(places)
    return [str(leftover) for leftover in found if leftover not in left]


def _instances(places: Places) -> Iterator[Leftover]:
    folder, names = _list_instances(places)
    for name in names:
        if _is_left(places, name):
            yield Leftover("trace instance", folder / name)


def _is_left(places: Places, instance: str) -> bool:
    if trace := TRACE.fullmatch(instance):
        return _is_of_here(trace) and not _is_program(places, trace[1], "taut-trace")
    audit = AUDIT.fullmatch(instance)
    return audit is not None and _is_of_here(audit) and not _is_process(audit)


def _list_instances(places: Places) -> tuple[Path, list[str]]:
    for folder in (root / "instances" for root in places.tracefs):
        with suppress(OSError):
            return folder, sorted(path.name for path in folder.iterdir())
    folder = places.tracefs[0] / "instances"
    return folder, sorted(_in_tracefs(places, ["ls", "-1", str(folder)]).splitlines())


def _in_tracefs(places: Places, command: Sequence[str]) -> str:
    """Run a command where tracefs is mounted, for it alone; give what it printed."""
    if os.geteuid() != 0 or any((root / "instances").is_dir() for root in places.tracefs):
        return ""
    argv = ["unshare", "--mount", "--propagation", "slave", "--", "sh", "-c", _MOUNTED]
    argv += [str(places.tracefs[0]), *command]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def _groups(places: Places) -> Iterator[Leftover]:
    for folder in _cpu_hierarchies(places.mounts):
        for path in sorted(folder.glob("taut-inject-*")):
            match = _GROUP.fullmatch(path.name)
            if match and _is_of_here(match) and not _is_program(places, match[1], "taut-inject"):
                yield Leftover("control group", path)


def _empty(group: Path, places: Places) -> None:
    """Have the victim of an injector that is dead leave its group, where it has next to no time."""
    for name, unlimited in (("cpu.max", "max"), ("cpu.cfs_quota_us", "-1")):
        if (group / name).exists():
            with suppress(OSError):
                (group / name).write_text(unlimited)
    with suppress(OSError):
        for process in (group / "cgroup.procs").read_text().split():
            _move(group.parent, places.processes / process / "task", process)


def _move(group: Path, threads: Path, process: str) -> None:
    """Put a process into a group; its threads keep their cores.

    Of version 2 it gets another cpuset with it, and before Linux 6.2 the kernel forgets what each
    thread was bound to (8f9ea86fdf99; as in dataplane/inject/cpu_group.c).
    """
    bound: dict[int, set[int]] = {}
    with suppress(OSError):
        for thread in [int(path.name) for path in threads.iterdir()]:
            with suppress(OSError):
                bound[thread] = os.sched_getaffinity(thread)
    with suppress(OSError):
        (group / "cgroup.procs").write_text(process)
    for thread, cores in bound.items():
        with suppress(OSError):
            if os.sched_getaffinity(thread) != cores:
                os.sched_setaffinity(thread, cores)


def _probes(places: Places) -> Iterator[Leftover]:
    for path in find_groups("taut-probe-*", places.mounts):
        match = _PROBE.fullmatch(path.name)
        if match and _is_of_here(match) and not _is_process(match):
            yield Leftover("control group", path)


def _cpu_hierarchies(mounts: Path) -> Iterator[Path]:
    with suppress(OSError):
        for line in mounts.read_text().splitlines():
            _, folder, kind, options = line.split()[:4]
            if kind == "cgroup2" or (kind == "cgroup" and "cpu" in options.split(",")):
                yield Path(folder)


def _is_of_here(name: re.Match[str]) -> bool:
    """Whether the number in a name is of the PID namespace that this process sees."""
    return name["namespace"] is None or pid_namespace() == f"pid:[{name['namespace']}]"


def _is_process(name: re.Match[str]) -> bool:
    """Whether the process is alive of which a name has the number and the start."""
    return process_start_time(int(name[1])) == int(name[2])


def _is_program(places: Places, process: str, name: str) -> bool:
    """Whether a process is alive and runs that program: its number may have been used again."""
    try:
        return (places.processes / process / "comm").read_text().strip() == name
    except OSError:
        return False
