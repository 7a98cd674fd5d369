"""taut-generate as one trial needs it: its command line, its results, how it failed."""

import shutil
import subprocess
from contextlib import AbstractContextManager
from math import isclose
from pathlib import Path

from taut.core.asked import Asked, Option, check_understood, misunderstood, to_arguments
from taut.core.binaries import find_binary
from taut.core.errors import InterruptedRun, TrialError
from taut.core.units import exact_rate
from taut.experiment.cores import Cores
from taut.experiment.plan import Plan, Trial
from taut.host.dpdk import GENERATOR_HUGEPAGES
from taut.records.documents.generator import GENERATOR_FILE, GeneratorResult
from taut.records.documents.json_form import read_document
from taut.testbed.process import Child, child
from taut.testbed.scope import RunScope

PROGRAM = "taut-generate"
HUGEPAGES = GENERATOR_HUGEPAGES
FOLLOWED_WITHIN_NS = 2_000_000_000
"""A trace that follows records keeps all events in memory until these are in the file."""

_NO_ROOM_BYTES = 1 << 20


def asked_of(
    trial: Trial,
    plan: Plan,
    cores: Cores,
    ports: tuple[str, str],
    out: Path,
    run_id: int,
    ring_mib: int,
    device_pid: int | None = None,
) -> Asked:
    """Say what one trial asks of it; `device_pid` is None of a device without a process."""
    traffic, spec = trial.traffic, plan.spec
    asked: dict[str, Option] = {
        "tx": ports[0],
        "rx": ports[1],
        "rx-queues": str(trial.device.driver_options.peer_rx_queues(trial.device.link)),
        **load_of(trial),
        "seed": str(trial.seed),
        "deadline": f"{spec.deadline_ns}ns",
        "record": trial.record,
        "record-ring": str(ring_mib),
        "run-id": str(run_id),
        "core": str(cores.generator),
        "writer-core": str(cores.writer),
        "out": str(out),
        "device-holds": trial.device.driver_options.waits_for_more,
        "both": traffic.both,
        "publish": True,
    }
    if trial.trace == "tail":
        asked["record-within"] = f"{FOLLOWED_WITHIN_NS}ns"
    if trial.bounded is not None:
        asked["record-one-in"] = str(trial.bounded.one_in)
        asked["record-void"] = "slow"
        asked["record-most"] = str(trial.bounded.most)
    if not trial.device.is_floor:
        asked["device-core"] = str(cores.device)
        asked["device-pid"] = str(device_pid or 0)
    if spec.gap_threshold_ns is not None:
        asked["gap-threshold"] = f"{spec.gap_threshold_ns}ns"
    return asked


def load_of(trial: Trial) -> dict[str, Option]:
    """Say what it is asked to send, and for how long: all repetitions alike, but for the seed."""
    traffic = trial.traffic
    length = f"{trial.duration_ns}ns" if trial.count is None else str(trial.count)
    return {
        "rate": exact_rate(trial.rate),
        "rate-layer": traffic.rate_layer,
        "frame": str(trial.frame),
        "schedule": schedule_text(trial),
        "flows": str(traffic.flows),
        "warm-up": f"{trial.warm_up_ns}ns",
        "duration" if trial.count is None else "count": length,
    }


def refusal(load: Asked) -> str | None:
    """Ask the program what is wrong with a load, or does not happen in its time; None: nothing."""
    asked = {"tx": "ring:check", "rx": "ring:check", "out": ".", **load, "check": True}
    done = subprocess.run(command_line(asked), capture_output=True, text=True, check=False)
    said = [*done.stderr.splitlines(), f"{PROGRAM}: status {done.returncode}"]
    return said[0].removeprefix(f"{PROGRAM}: ") if done.returncode else None


def running(
    asked: Asked, cores: Cores, netns: str | None, logs: Path, scope: RunScope
) -> AbstractContextManager[Child]:
    """Start it on its core, and what writes its records on the writer's; dead on exit."""
    return child(
        PROGRAM,
        command_line(asked),
        scope=scope,
        log=logs / f"{PROGRAM}.log",
        cores=sorted({cores.generator, cores.writer}),
        netns=netns,
    )


def command_line(asked: Asked) -> list[str]:
    """Write the whole command line."""
    return [str(find_binary(PROGRAM)), *to_arguments(asked)]


def schedule_text(trial: Trial) -> str:
    """Write the schedule with its options: `burst:size=32`."""
    options = ",".join(f"{key}={value}" for key, value in trial.traffic.options.items())
    return f"{trial.traffic.schedule}:{options}" if options else trial.traffic.schedule


def read_result(
    child: Child, out: Path, asked: Asked, offered_pps: float, may_be_short: bool = False
) -> GeneratorResult:
    """Give generator.json of a generator that ended as planned, or early because taut told it to.

    TrialError if it did not; MissingToolError where it did another thing than it was asked to.
    """
    path = out / GENERATOR_FILE
    status = child.exit_status
    if status != 0 and not (may_be_short and status == InterruptedRun.exit_status):
        raise TrialError(_reason(child, out), child.tail())
    if not path.exists():
        raise TrialError(f"{PROGRAM}: ended without {GENERATOR_FILE}", child.tail())
    result = read_document(GeneratorResult, path)
    check_understood(PROGRAM, asked, result.understood)
    rate_pps = result.rate_pps
    # Both sides count packets of a rate in bits: a last digit may differ.
    if rate_pps is None or not isclose(rate_pps, offered_pps, rel_tol=1e-9, abs_tol=1e-6):
        raise misunderstood(PROGRAM, "rate_pps", offered_pps, rate_pps)
    return result


def _reason(child: Child, out: Path) -> str:
    """Say why it failed: the last line it wrote, else how it ended."""
    said = [line for line in child.tail() if line.startswith(f"{PROGRAM}:")]
    if said:
        return said[-1]
    # A message about a full disk may be missing: the log is on that disk.
    if out.is_dir() and shutil.disk_usage(out).free < _NO_ROOM_BYTES:
        return (
            f"{PROGRAM}: the disk is full; records are not whole; free space or --set record=tail"
        )
    return f"{PROGRAM}: {child.describe_end()}"
