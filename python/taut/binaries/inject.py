"""Disturbances made on purpose by taut-inject, and what was sent of them."""

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from taut.binaries.describe import describe
from taut.binaries.ended import printed, waited
from taut.core.asked import check_understood
from taut.core.binaries import find_binary
from taut.core.errors import TautError
from taut.records.documents.inject import CauseDescribed, InjectDescribed, InjectDocument
from taut.records.documents.json_form import JsonObject, parse

INJECTIONS = "injections.bin"
GAPS = "gaps.bin"

_PROGRAM = "taut-inject"
_GRACE_S = 30
"""Allowed beyond the duration: taut-inject takes memory before it and writes files after it."""
_END_S = 5


@dataclass(frozen=True)
class InjectRequest:
    """A cause to inject, how often and how long. Without `victim`, taut-inject polls itself."""

    cause: str
    """A name, or a name with options: `stopped:length=2ms`."""
    core: int
    out: Path
    per_s: int
    """How many acts are begun each second, victim running or not."""
    duration_ns: int
    threshold_ns: int | None = None
    """Of the poller's gaps; None: as taut-inject has it."""
    seed: int | None = None
    """Of the times of the acts; None: likewise."""
    victim: int | None = None
    waits: bool = False
    """Prepare, then begin at SIGUSR1; the duration counts from there."""


@dataclass(frozen=True)
class Injected:
    """What was sent. When each act was, the record files in `out` say, in TSC ticks."""

    cause: str
    core: int
    sent: int
    not_sent: int
    """Acts that found no victim running, or could not be confirmed: they are in no file."""
    overdue: int
    """Acts that were never begun: those before them took longer than the duration."""
    records: int
    felt: int | None
    """Records that overlap a gap of the poller's.

    None: the victim was another process, or some gaps or acts had no room.
    """
    victim_thread: int
    was_interrupted: bool
    document: InjectDocument
    """All of inject.json, of which the fields above are parts."""


def inject(request: InjectRequest, started: Callable[[int], None] | None = None) -> Injected:
    """Run taut-inject to its end. Ctrl-C ends it early: what was injected comes back.

    `started` is called with its process id while it runs.
    """
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
    try:
        if started is not None:
            started(process.pid)
        out, said, _ = waited(process, _PROGRAM, request.duration_ns / 1e9 + _GRACE_S)
    finally:
        # Still running only if an exception came before its end.
        _end(process)
    found = printed(_PROGRAM, command, process.returncode, out, said)
    _check(request, found)
    return parse_injected(found)


def causes() -> Mapping[str, CauseDescribed]:
    """Give what taut-inject can do: each cause by name, with its options and what it needs."""
    return {cause.name: cause for cause in describe(_PROGRAM, InjectDescribed).causes}


def parse_injected(written: object) -> Injected:
    """Turn inject.json into values; InputError: it is something else."""
    document = parse(InjectDocument, written, _PROGRAM)
    return Injected(
        cause=document.cause,
        core=document.core,
        sent=document.sent,
        not_sent=document.not_sent,
        overdue=document.overdue,
        records=document.records,
        felt=document.felt,
        victim_thread=document.threads.victim,
        was_interrupted=document.stop == "signal",
        document=document,
    )


def _command(request: InjectRequest) -> list[str]:
    # Whoever polls or preempts must not outlive us when we are killed.
    command = ["setpriv", "--pdeathsig", "TERM", "--", str(find_binary(_PROGRAM)), request.cause]
    command += ["--core", str(request.core), "--rate", f"{request.per_s}/s", "--json"]
    command += ["--duration", f"{request.duration_ns}ns", "--out", str(request.out)]
    if request.seed is not None:
        command += ["--seed", str(request.seed)]
    if request.threshold_ns is not None:
        command += ["--threshold", f"{request.threshold_ns}ns"]
    if request.victim is not None:
        command += ["--victim", str(request.victim)]
    if request.waits:
        command.append("--wait")
    return command


def _check(request: InjectRequest, said: JsonObject) -> None:
    """MissingToolError where it did another thing than it was asked to."""
    asked: dict[str, object] = {
        "core": request.core,
        "rate_per_s": request.per_s,
        "duration_ns": request.duration_ns,
    }
    if request.seed is not None:
        asked["seed"] = request.seed
    check_understood(_PROGRAM, asked, said)


def _end(process: subprocess.Popen[str]) -> None:
    """Let it clean up (continue a stopped process, remove a control group) before it is killed."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.communicate(timeout=_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
