"""taut-trace beside a trial: what the kernel does on the cores of generator and device.

Experiments trace unless they say otherwise (trace = "auto"), so that a late packet has a cause to
look up. Where a machine cannot trace, "auto" measures without; any other mode is then an error.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from taut.core.asked import Option, check_understood, to_arguments
from taut.core.binaries import find_binary, find_binary_or_none, not_found
from taut.core.cpus import format_cpu_list
from taut.core.errors import TrialError
from taut.experiment.cores import Cores
from taut.experiment.fields import Trace
from taut.experiment.plan import Plan
from taut.experiment.room import MIB
from taut.host.host import Host
from taut.host.machine import OTHER_NUMBERS, has_own_numbers
from taut.records.convert import EVENTS_FILE, PACKETS_FILE
from taut.records.documents.json_form import read_json
from taut.records.documents.trace import TRACE_FILE
from taut.testbed.process import Child, child
from taut.testbed.scope import RunScope
from taut.testbed.scratch import Scratch

PROGRAM = "taut-trace"
_ARMED = "armed$"
_PROBE_TIMEOUT_S = 30.0
_STOP_TIMEOUT_S = 10.0
_MOST_THREADS = 256
"""What taut-trace takes (TRACE_THREADS_MAX of dataplane/trace/collector.h)."""


class Wanted(NamedTuple):
    """What is to be traced."""

    mode: Trace
    events: str = ""
    """The groups, as taut-trace's --events."""
    buffer_mib: int | None = None
    """The size of the kernel's buffer for each core; None: taut-trace's default."""


@dataclass(frozen=True)
class Tracer:
    """A taut-trace that records, and what its trace.json is to say of what it was asked."""

    program: Child
    raw: Path
    reported: Mapping[str, object]
    notes: tuple[str, ...] = ()
    """What the trace does not have of the device, in words."""


def is_wanted(plan: Plan) -> bool:
    """Whether any trial of a plan is to be traced."""
    return any(trial.trace != "off" for trial in plan.trials)


def why_auto_goes_without(plan: Plan) -> str | None:
    """Say why trials with trace = "auto" go untraced; None: they are traced, or there are none."""
    return why_not() if plan.spec.trace == "auto" and is_wanted(plan) else None


def why_not() -> str | None:
    """Say why this machine cannot trace, by trying for a millisecond; None when it can."""
    program = find_binary_or_none(PROGRAM)
    if program is None:
        return not_found(PROGRAM)
    if has_own_numbers(Host()):
        return OTHER_NUMBERS
    core = min(os.sched_getaffinity(0))
    with Scratch("trace") as out:
        argv = ["setpriv", "--pdeathsig", "KILL", "--", str(program), "--cores", str(core)]
        argv += ["--out", str(out), "--duration", "1ms", "--events", "irq"]
        try:
            done = subprocess.run(
                argv, capture_output=True, text=True, check=False, timeout=_PROBE_TIMEOUT_S
            )
        except subprocess.TimeoutExpired:
            return f"{PROGRAM}: not armed in {_PROBE_TIMEOUT_S:g} s"
    if done.returncode == 0:
        return None
    said = done.stderr.strip().splitlines()
    return said[-1] if said else f"{PROGRAM}: ended with exit status {done.returncode}"


@contextmanager
def traced(
    wanted: Wanted,
    cores: Cores,
    device: Sequence[int],
    raw: Path,
    logs: Path,
    scope: RunScope,
) -> Iterator[Tracer]:
    """Record events.bin into `raw` from when the block is entered until `finish`.

    Arming patches code on every core: enter it before the generator starts. `device` are its
    processes, whose page faults and system calls are recorded too: of as many threads as taut-trace
    takes, first of those that may run on the measured cores.
    """
    asked: dict[str, Option] = {
        "out": str(raw),
        "cores": format_cpu_list(cores.measured),
        "mode": wanted.mode,
    }
    reported: dict[str, object] = {"cores": cores.measured, "mode": wanted.mode}
    if wanted.buffer_mib is not None:
        reported["buffer_bytes"] = wanted.buffer_mib * MIB
        asked["buffer"] = str(wanted.buffer_mib * MIB)
    if wanted.events:
        asked["events"] = wanted.events
    threads = threads_of(*device)
    watched = sorted(sorted(threads, key=_is_elsewhere(cores))[:_MOST_THREADS])
    if watched:
        asked["threads"] = ",".join(map(str, watched))
    if wanted.mode == "tail":
        # What is kept is what surrounds slow packets: they are read as the generator writes them.
        asked["follow"] = str(raw / PACKETS_FILE)
    argv = [str(find_binary(PROGRAM)), *to_arguments(asked)]
    with child(
        PROGRAM, argv, scope=scope, log=logs / f"{PROGRAM}.log", cores=[cores.runner]
    ) as tracer:
        try:
            tracer.wait_ready(_ARMED)
            yield Tracer(tracer, raw, reported, _left_out(len(threads) - len(watched)))
        finally:
            # A killed tracer leaves its instances to its keeper process, which dies with the run.
            tracer.stop(signal.SIGTERM, _STOP_TIMEOUT_S)


def _is_elsewhere(cores: Cores) -> Callable[[int], bool]:
    """Tell of a thread whether it may run on none of the cores that are measured, or is gone."""
    measured = set(cores.measured)

    def is_elsewhere(thread: int) -> bool:
        try:
            return measured.isdisjoint(os.sched_getaffinity(thread))
        except OSError:
            return True

    return is_elsewhere


def _left_out(n_threads: int) -> tuple[str, ...]:
    if n_threads == 0:
        return ()
    return (
        f"page faults and system calls of {n_threads} of its threads were not recorded: "
        f"{PROGRAM} takes {_MOST_THREADS} threads, first those that may run on measured cores",
    )


def finish(tracer: Tracer) -> None:
    """Stop it and have it write what is left.

    TrialError if it failed; MissingToolError where it did another thing than it was asked to.
    """
    program = tracer.program
    if program.stop(signal.SIGTERM, timeout_s=60.0) != 0:
        raise TrialError(f"{PROGRAM}: {program.describe_end()}", program.tail())
    check_understood(PROGRAM, tracer.reported, read_json(tracer.raw / TRACE_FILE))


def discard(raw: Path) -> None:
    """Remove the records of a failed trace: half of them would name wrong causes."""
    for name in (EVENTS_FILE, TRACE_FILE):
        (raw / name).unlink(missing_ok=True)


def reason_of(error: TrialError) -> str:
    """Give the last line the tracer wrote, else how it ended."""
    said = [line for line in error.log_tail if line.startswith(f"{PROGRAM}:")]
    return said[-1] if said and not said[-1].endswith(": armed") else error.reason


def threads_of(*processes: int) -> Sequence[int]:
    """Give the ids of processes' threads as they are now; of one that has ended, its own id."""
    found = set(processes)
    for process in processes:
        with suppress(OSError):
            found.update(int(path.name) for path in Path(f"/proc/{process}/task").iterdir())
    return sorted(found)
