"""taut-generate as one trial needs it: its command line, its results, how it failed."""

import shutil
from pathlib import Path

from taut.core.binaries import find_binary
from taut.core.errors import TrialError
from taut.experiment.cores import Cores
from taut.experiment.plan import Plan, Trial
from taut.records.documents.generator import GENERATOR_FILE, GeneratorResult
from taut.records.documents.json_form import read_document
from taut.testbed.process import Child

PROGRAM = "taut-generate"
HUGEPAGES = 64

_NO_ROOM_BYTES = 1 << 20


def command_line(
    trial: Trial,
    plan: Plan,
    cores: Cores,
    ports: tuple[str, str],
    out: Path,
    run_id: int,
    ring_mib: int,
) -> list[str]:
    """Write the whole command line of one trial."""
    traffic, spec = trial.traffic, plan.spec
    tx, rx = ports
    argv = [str(find_binary(PROGRAM)), "--tx", tx, "--rx", rx]
    argv += ["--rate", trial.rate, "--rate-layer", traffic.rate_layer]
    argv += ["--frame", str(trial.frame), "--schedule", schedule_text(trial)]
    argv += ["--flows", str(traffic.flows), "--seed", str(trial.seed)]
    if trial.count is not None:
        argv += ["--count", str(trial.count)]
    else:
        argv += ["--duration", f"{trial.duration_ns}ns"]
    argv += ["--warm-up", f"{trial.warm_up_ns}ns", "--deadline", f"{spec.deadline_ns}ns"]
    if spec.gap_threshold_ns is not None:
        argv += ["--gap-threshold", f"{spec.gap_threshold_ns}ns"]
    argv += ["--record", trial.record, "--record-ring", str(ring_mib), "--run-id", str(run_id)]
    argv += ["--core", str(cores.generator), "--writer-core", str(cores.writer)]
    argv += ["--out", str(out)]
    if trial.device.driver_options.waits_for_more:
        argv.append("--device-holds")
    return [*argv, "--both"] if traffic.both else argv


def schedule_text(trial: Trial) -> str:
    """Write the schedule with its options: `burst:size=32`."""
    options = ",".join(f"{key}={value}" for key, value in trial.traffic.options.items())
    return f"{trial.traffic.schedule}:{options}" if options else trial.traffic.schedule


def read_result(child: Child, out: Path) -> GeneratorResult:
    """Give generator.json of a generator that ended as planned; TrialError if it did not."""
    path = out / GENERATOR_FILE
    status = child.exit_status
    if status != 0:
        raise TrialError(_reason(child, out), child.tail())
    if not path.exists():
        raise TrialError(f"{PROGRAM}: ended without {GENERATOR_FILE}", child.tail())
    return read_document(GeneratorResult, path)


def _reason(child: Child, out: Path) -> str:
    """Say why it failed: its own last word, else how it ended."""
    said = [line for line in child.tail() if line.startswith(f"{PROGRAM}:")]
    if said:
        return said[-1]
    # What it says of a full disk it says into a log on that disk.
    if out.is_dir() and shutil.disk_usage(out).free < _NO_ROOM_BYTES:
        return (
            f"{PROGRAM}: the disk is full; records are not whole; free space or --set record=tail"
        )
    return f"{PROGRAM}: {child.describe_end()}"
