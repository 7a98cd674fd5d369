"""What keeps a polling core from its work, as taut-noise measures it."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from taut.binaries.ended import printed, waited
from taut.core.asked import check_understood
from taut.core.binaries import find_binary
from taut.core.cpus import CpuSet, format_cpu_list
from taut.core.errors import TautError
from taut.records.clock import fit_of
from taut.records.documents.json_form import JsonObject, parse
from taut.records.documents.noise import CorePolled, NoisePrinted
from taut.records.layout import RecordKind
from taut.records.raw_file import open_raw

_PROGRAM = "taut-noise"
_GRACE_S = 30
"""Allowed beyond the duration: taut-noise takes memory before it and writes files after it."""

Counts = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Values in nanoseconds and how often each occurred."""


@dataclass(frozen=True)
class NoiseRequest:
    """How long and on which cores taut-noise polls the clock, and what is a gap."""

    duration_ns: int
    threshold_ns: int | None = None
    """A longer time between two readings of the clock is a gap; None: as taut-noise has it."""
    cores: CpuSet = ()
    """Empty: the isolated ones, else all of the cpuset but the first."""
    priority: int = 0
    """SCHED_FIFO priority, 1 to 99; 0: the scheduling of this process."""
    out: Path | None = None
    """Folder for gaps and histograms."""


@dataclass(frozen=True)
class CoreNoise:
    """One core. A gap is a time between two readings of the clock above the threshold."""

    core: int
    samples: int
    """Times the clock was read."""
    duration_ns: int
    period_ns: Mapping[str, int]
    """min, p50 ... p99.9999 of the time between two readings."""
    over: Mapping[int, int]
    """Gaps over each threshold in nanoseconds."""
    n_gaps: int
    stolen_ns: int
    """The lengths of all gaps together."""
    not_logged: int
    """Gaps that are counted but not in the file."""
    worst_ns: int
    worst_at_ns: int
    """When the worst gap began, in ns since the start."""

    @property
    def stolen_share(self) -> float:
        """The share of the time polled that gaps took, 0 to 1; 0 where nothing was polled."""
        return self.stolen_ns / self.duration_ns if self.duration_ns else 0.0


@dataclass(frozen=True)
class Noise:
    """All cores over the same time."""

    cores: tuple[CoreNoise, ...]
    threshold_ns: int
    priority: int
    was_interrupted: bool


def measure_noise(request: NoiseRequest) -> Noise:
    """Run taut-noise. Ctrl-C ends it early: what was measured comes back, was_interrupted."""
    command = _command(request)
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    except OSError as error:
        raise TautError(f"{command[0]}: cannot be started: {error.strerror}") from None
    timeout_s = request.duration_ns / 1e9 + _GRACE_S
    try:
        out, said, was_interrupted = waited(process, _PROGRAM, timeout_s)
    finally:
        # Still running only if an exception came before its end.
        process.kill()
        process.wait()
    try:
        found = printed(_PROGRAM, command, process.returncode, out, said)
    except TautError:
        if was_interrupted:
            raise KeyboardInterrupt from None
        raise
    noise = parse_noise(found)
    _check(request, {**found, "cores": [core.core for core in noise.cores]})
    return noise


def read_periods(out: Path, core: int) -> Counts:
    """Read how often each period of a core occurred, from the folder that was asked for."""
    path = out / f"histogram_{core}.bin"
    raw = open_raw(path, RecordKind.HISTOGRAM)
    rows = list(raw.chunks())
    if not rows:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    records = np.concatenate(rows)
    return fit_of(raw.header).spans_ns(records["value_ticks"]), records["count"].astype(np.int64)


def parse_noise(printed: object) -> Noise:
    """Turn what taut-noise printed into values; InputError: it printed something else."""
    found = parse(NoisePrinted, printed, _PROGRAM)
    return Noise(
        cores=tuple(_core(row) for row in found.cores),
        threshold_ns=found.threshold_ns,
        priority=found.priority,
        was_interrupted=found.stop == "signal",
    )


def _check(request: NoiseRequest, said: JsonObject) -> None:
    """MissingToolError where it did another thing than it was asked to."""
    asked: dict[str, object] = {"duration_ns": request.duration_ns, "priority": request.priority}
    if request.threshold_ns is not None:
        asked["threshold_ns"] = request.threshold_ns
    if request.cores:
        asked["cores"] = sorted(request.cores)
    check_understood(_PROGRAM, asked, said)


def _core(row: CorePolled) -> CoreNoise:
    return CoreNoise(
        core=row.core,
        samples=row.samples,
        duration_ns=row.duration_ns,
        period_ns=row.period_ns,
        over={over.threshold_ns: over.gaps for over in row.over},
        n_gaps=row.gaps.n,
        stolen_ns=row.gaps.total_ns,
        not_logged=row.gaps.not_logged,
        worst_ns=row.worst.ns,
        worst_at_ns=row.worst.at_ns,
    )


def _command(request: NoiseRequest) -> list[str]:
    # A poller at a real-time priority must not outlive us when we are killed.
    command = ["setpriv", "--pdeathsig", "KILL", "--"]
    command += [str(find_binary(_PROGRAM)), "--duration", f"{request.duration_ns}ns"]
    command += ["--priority", str(request.priority)]
    if request.threshold_ns is not None:
        command += ["--threshold", f"{request.threshold_ns}ns"]
    if request.cores:
        command += ["--cores", format_cpu_list(request.cores)]
    if request.out is not None:
        command += ["--out", str(request.out)]
    return command
