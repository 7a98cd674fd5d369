"""Record kernel events for a while, in an instance of tracefs that is taut's own.

Nothing is mounted, no buffer of anybody else is touched, and the instance is always removed; one
that a killed taut left behind is removed at the next start.
"""

import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from taut.core.cpus import CpuSet, cpu_mask
from taut.core.trace_names import AUDIT
from taut.host.host import Host
from taut.host.situation import TraceEvent
from taut.host.threads import PID_NAMESPACE, start_ticks

TRACEFS = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))

# What other cores do to a core is noted on theirs: these events are recorded on all cores.
_SEEN_ELSEWHERE = frozenset({"ipi", "module", "cpuhp"})
# `  kworker/0:1-17 (  17) [000] d..2. 12.345678: sched_switch: prev_comm=...`; the number of the
# thread group and the flags depend on options of the buffer.
_LINE = re.compile(
    r"^\s*(?P<comm>.*)-(?P<pid>\d+)\s+(?:\([-\s\d]+\)\s+)?\[(?P<core>\d+)\]\s+"
    r"(?:\S+\s+)?\d+\.\d+: (?P<name>\w+): ?(?P<fields>.*)$"
)


def record_events(
    events: Sequence[str],
    cores: CpuSet,
    seconds: float,
    folders: Sequence[Path] = TRACEFS,
) -> list[TraceEvent] | None:
    """Give what happened on the cores; None when tracing is not allowed here.

    Events are named as timer/tick_stop. Those this kernel lacks are left out (missing_events).
    Events of interrupts between cores, modules and hotplug come from all cores. A buffer keeps the
    last 1.4 MB of each core: more may have happened than is given.
    """
    folder = find_tracefs(folders)
    if folder is None:
        return None
    _remove_stale(folder / "instances")
    lacking = missing_events(events, folders)
    there = [event for event in events if event not in lacking]
    local = [event for event in there if _system(event) not in _SEEN_ELSEWHERE]
    elsewhere = [event for event in there if _system(event) in _SEEN_ELSEWHERE]
    try:
        with ExitStack() as stack:
            buffers = []
            if local:
                buffers.append(stack.enter_context(_instance(folder, "", local, cores)))
            if elsewhere:
                buffers.append(stack.enter_context(_instance(folder, "-all", elsewhere, ())))
            # Switching events on interrupts every core; that is over before recording begins.
            for buffer in buffers:
                _write(buffer / "tracing_on", "1")
            time.sleep(seconds)
            for buffer in buffers:
                _write(buffer / "tracing_on", "0")
            texts = [(buffer / "trace").read_text(errors="replace") for buffer in buffers]
    except OSError:
        return None
    return [event for text in texts for event in parse_trace(text)]


def missing_events(events: Sequence[str], folders: Sequence[Path] = TRACEFS) -> tuple[str, ...]:
    """Name the events this kernel does not have; all of them where there is no tracefs."""
    folder = find_tracefs(folders)
    if folder is None:
        return tuple(events)
    return tuple(event for event in events if not (folder / "events" / event).is_dir())


def find_tracefs(folders: Sequence[Path] = TRACEFS) -> Path | None:
    """Give the folder where tracefs is mounted and readable."""
    for folder in folders:
        with suppress(OSError):
            if (folder / "instances").is_dir():
                return folder
    return None


def parse_trace(text: str) -> list[TraceEvent]:
    """Read the lines of a trace file; headers and notes of lost events are passed over."""
    found = []
    for line in text.splitlines():
        match = None if line.startswith("#") else _LINE.match(line)
        if match is not None:
            found.append(
                TraceEvent(
                    core=int(match["core"]),
                    comm=match["comm"].strip(),
                    pid=int(match["pid"]),
                    name=match["name"],
                    fields=match["fields"].strip(),
                )
            )
    return found


@contextmanager
def _instance(folder: Path, suffix: str, events: Sequence[str], cores: CpuSet) -> Iterator[Path]:
    """A buffer of its own that records nothing yet; no cores: all of them."""
    me = os.getpid()
    name = f"taut-audit-{me}-{start_ticks(Host(), me)}-{Path(PID_NAMESPACE).stat().st_ino}{suffix}"
    made = folder / "instances" / name
    made.mkdir()
    try:
        _write(made / "tracing_on", "0")
        if cores:
            _write(made / "tracing_cpumask", cpu_mask(cores))
        for event in events:
            _write(made / "events" / event / "enable", "1")
        yield made
    finally:
        # The kernel takes an instance away with all that was switched on in it.
        made.rmdir()


def is_under_way(name: str, host: Host) -> bool:
    """Whether an instance of tracefs is that of an audit which is under way."""
    match = AUDIT.fullmatch(name)
    if match is None:
        return False
    process, began = int(match[1]), int(match[2])
    return is_elsewhere(match["namespace"], host) or start_ticks(host, process) == began


def is_elsewhere(namespace: str | None, host: Host) -> bool:
    """Whether a process is of another PID namespace: nobody can tell here whether it lives."""
    return namespace is not None and host.link_target(PID_NAMESPACE) not in (
        None,
        f"pid:[{namespace}]",
    )


def _remove_stale(instances: Path) -> None:
    """Remove what taut's killed processes left."""
    for left in instances.glob("taut-audit-*"):
        if AUDIT.fullmatch(left.name) and not is_under_way(left.name, Host()):
            with suppress(OSError):
                left.rmdir()


def _write(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _system(event: str) -> str:
    return event.partition("/")[0]
