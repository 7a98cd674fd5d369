"""Time one process, or look at the memory of it and of what it starts."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SAMPLE_S = 0.01


@dataclass(frozen=True)
class Run:
    """What a process took, and the JSON it printed."""

    seconds: float
    document: Mapping[str, Any]
    peak_kib: int
    """Peaks of all its processes added up: what they can have had at most. 0: not sampled."""
    at_once_kib: int = 0
    """The most that was seen of all at one time."""


def run_process(command: Sequence[str], folder: Path, *, sampled: bool = False) -> Run:
    """Run a command to its end; sampled: look at its memory, which costs it time."""
    with (folder / "stdout").open("w+") as stdout, (folder / "stderr").open("w+") as stderr:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
        memory_kib = _sampled_kib(process) if sampled else (0, 0)
        status = process.wait()
        seconds = time.perf_counter() - start
        if status != 0:
            stderr.seek(0)
            sys.exit(f"bench: {' '.join(command)} failed:\n{stderr.read()[-2000:]}")
        stdout.seek(0)
        return Run(seconds, json.load(stdout), *memory_kib)


def _sampled_kib(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    """Give the peaks added up, and the most at one time."""
    peaks: dict[int, int] = {}
    at_once, seen = 0, {process.pid}
    while process.poll() is None:
        # A child has its parent's memory until its exec: the last peak of each counts, and its
        # memory from the second look on.
        peaks |= peaks_kib(process.pid)
        now = _memory_kib(process.pid, "VmRSS")
        at_once = max(at_once, sum(kib for pid, kib in now.items() if pid in seen))
        seen = {process.pid, *now}
        time.sleep(SAMPLE_S)
    return sum(peaks.values()), at_once


def peaks_kib(pid: int) -> dict[int, int]:
    """Give the peak resident memory so far of a process and of each below it, by its number."""
    return _memory_kib(pid, "VmHWM")


def _memory_kib(pid: int, field: str) -> dict[int, int]:
    found = {}
    for each in tree(pid):
        status = _read(Path(f"/proc/{each}/status"))
        line = next((row for row in status.splitlines() if row.startswith(field)), None)
        if line is not None:
            found[each] = int(line.split()[1])
    return found


def tree(pid: int) -> Iterator[int]:
    """Give the process and all below it."""
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in _read(children).split():
            yield from tree(int(child))


def _read(path: Path) -> str:
    """Give nothing of a process that has ended meanwhile."""
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
