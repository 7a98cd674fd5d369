"""Processes that tests start: what /proc says of them, and waiting until it says so.

A program begins when the machine lets it, which may be seconds after it was started. So a test
waits for what it needs, with a bound that only a fault reaches, never for a time that should do.
"""

import re
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def wait_for(what: str, look: Callable[[], Any], timeout_s: float = 60) -> Any:
    """Look until there is something, and give it."""
    deadline = time.monotonic() + timeout_s
    while not (found := look()):
        # Asked after the look: who was kept from running meanwhile has looked all the same.
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not seen in {timeout_s} s")
        time.sleep(0.01)
    return found


def state_of(pid: int) -> str:
    """Give the letter of proc(5): T is stopped, S sleeps, Z has ended."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def name_of(pid: int) -> str:
    """Name the program a process runs by now: who starts a chain of programs begins as another."""
    return Path(f"/proc/{pid}/comm").read_text().strip()


def blocks(pid: int, number: signal.Signals) -> bool:
    """Whether the first thread of a process keeps a signal waiting."""
    status = Path(f"/proc/{pid}/status").read_text()
    [mask] = re.findall(r"^SigBlk:\s*(\w+)$", status, re.MULTILINE)
    return bool(int(mask, 16) >> (number - 1) & 1)


def ran_s(pid: int) -> float:
    """How many seconds the threads of a process had a core."""
    return sum(ran_by_thread(pid).values())


def ran_by_thread(pid: int) -> dict[int, float]:
    """How many seconds each thread of a process had a core."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            found[int(task.name)] = int((task / "schedstat").read_text().split()[0]) / 1e9
        except OSError:
            continue  # it has ended
    return found


def wait_until_ran(pid: int, more_s: float = 0.2) -> None:
    """Wait until a program that polls has had a core for so long from now on."""
    before = ran_s(pid)
    wait_for(f"{more_s} s of work of process {pid}", lambda: ran_s(pid) - before >= more_s)


Look = tuple[tuple[float, ...], float]
"""How many seconds each of some processes had run, and when that was known."""


def watched(argv: Sequence[str], *pids: int) -> tuple[subprocess.CompletedProcess[str], list[Look]]:
    """Run a program to its end, and look all the while how long other processes have run."""
    looks: list[Look] = []
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while True:
            looks.append((tuple(ran_s(pid) for pid in pids), time.monotonic()))
            try:
                out, said = process.communicate(timeout=0.02)
            except subprocess.TimeoutExpired:
                continue
            return subprocess.CompletedProcess(argv, process.returncode, out, said), looks


def least_ran(looks: Sequence[Look], span_s: float) -> list[tuple[float, ...]]:
    """How long each had run at least in a span of that length, for wherever it may have lain.

    A machine that is slow for a while gives less in one span than in another, and from outside
    nobody knows when exactly the program that was watched measured.
    """
    found = []
    for number, (_, since_s) in enumerate(looks[:-2]):
        if since_s + span_s > looks[-1][1]:
            break
        # Of a span that begins before the next look: from the one after that to its own end.
        first = looks[number + 2][0]
        last = [ran for ran, at_s in looks if at_s <= since_s + span_s][-1]
        found.append(tuple(max(b - a, 0.0) for a, b in zip(first, last, strict=True)))
    return found
