"""Time one process, or look at the memory of it and of what it starts."""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SAMPLE_S = 0.01
LOOK_RATIO = 20
"""At most one part in so many of the time is spent looking: Java has hundreds of threads."""

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Run:
    """What a process took, and the JSON it printed."""

    seconds: float
    processor_s: float
    """Of all processes, in user and in system mode."""
    document: Mapping[str, Any]
    peak_kib: int
    """Peaks of all its processes added up: what they can have had at most. 0: not sampled."""
    at_once_kib: int = 0
    """The most that was seen of all at one time."""


def run_process(command: Sequence[str], folder: Path, *, sampled: bool = False) -> Run:
    """Run a command to its end; sampled: look at its memory, which costs it time.

    Whatever else this process has started, a server of the command's, counts as the command does.
    """
    with (folder / "stdout").open("w+") as stdout, (folder / "stderr").open("w+") as stderr:
        before_s, start = _processor_s(), time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
        memory_kib = _sampled_kib(process) if sampled else (0, 0)
        status = process.wait()
        seconds = time.perf_counter() - start
        processor_s = _processor_s() - before_s
        if status != 0:
            stderr.seek(0)
            sys.exit(f"bench: {' '.join(command)} failed:\n{stderr.read()[-2000:]}")
        stdout.seek(0)
        return Run(seconds, processor_s, json.load(stdout), *memory_kib)


def _sampled_kib(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    """Give the peaks added up, and the most at one time."""
    peaks: dict[int, int] = {}
    at_once, seen = 0, {process.pid}
    while process.poll() is None:
        start = time.thread_time()
        looked = _memory_kib()
        # A child has its parent's memory until its exec: the last peak of each counts, and its
        # memory from the second look on.
        peaks |= {pid: peak for pid, (_, peak) in looked.items()}
        at_once = max(at_once, sum(now for pid, (now, _) in looked.items() if pid in seen))
        seen = {process.pid, *looked}
        time.sleep(max(SAMPLE_S, LOOK_RATIO * (time.thread_time() - start)))
    return sum(peaks.values()), at_once


def _memory_kib() -> dict[int, tuple[int, int]]:
    """Give the resident memory of each process below this one, now and at most so far."""
    found = {}
    for pid in _below():
        lines = _read(Path(f"/proc/{pid}/status")).splitlines()
        fields = dict(line.split(":", 1) for line in lines)
        if "VmRSS" in fields:
            found[pid] = int(fields["VmRSS"].split()[0]), int(fields["VmHWM"].split()[0])
    return found


def _processor_s() -> float:
    """Give what all processes below this one have used, and those that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    ticks = 0
    for pid in _below():
        # The name, in brackets, may hold anything: 14 to 17 of proc_pid_stat(5) come after it.
        fields = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
        ticks += sum(int(field) for field in fields[11:15])
    return ended.ru_utime + ended.ru_stime + ticks / _TICKS_PER_S


def _below() -> list[int]:
    return [pid for pid in tree(os.getpid()) if pid != os.getpid()]


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
