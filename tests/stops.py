"""Programs of a run that are stopped on purpose, and what else stalled beside such a stop."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from acceptance_run import Run, Trial, Window, child_of, finished, in_a_trial, passed, started
from waiting import state_of

LONG_NS = 1_000_000


def with_stops(
    folder: Path,
    spec: str,
    program: str,
    *arguments: str,
    n: int,
    stop_ns: int = 5_000_000,
) -> tuple[Run, Trial, list[Window]]:
    """Stop a program of a run again and again; give when, in the trial's time.

    Generator, device and who stops them go before all others on the machine.
    """
    with started(folder, spec, *arguments) as taut:
        pid = in_a_trial(folder / "run", taut, program)
        time.sleep(1)  # warm-up
        stops = []
        # Beside other programs the trial may be over before the last stop.
        with on_the_core_of(pid), suppress(ProcessLookupError, FileNotFoundError):
            lift_generator_and_device(taut.pid)
            for _ in range(n):
                stops.append(stop_for(pid, stop_ns))
                time.sleep(0.2)
        run = passed(finished(folder, taut))
    trial = run.trials[0]
    windows = [(trial.at_ns(start), trial.at_ns(end)) for start, end in stops]
    last_ns = int(trial.packets["due_ns"].max())
    inside = [w for w in windows if w[0] > 600_000_000 and w[1] < last_ns - 50_000_000]
    assert inside, f"none of {len(windows)} stops lies in the trial"
    return run, trial, inside


BESIDE_NS = 1_000_000
SHORT_NS = 200_000
TURN_NS = 10_000
"""On a machine that is slow for a while each turn of a loop is a gap of some us, and no stall."""


def calm_stop(trial: Trial, window: Window, stopped: str) -> int | None:
    """How long the stopped thread stood by its own log; None where another stall is beside.

    The machine stalls generator and device, too. What both logged within a millisecond of a stop is
    the noise: a stop without any is the planted one alone.
    """
    start, end = window
    starts, ends = trial.gaps(stopped)
    stood = (starts < end) & (ends > start)
    if stood.sum() != 1:
        return None
    [began], [ended] = starts[stood], ends[stood]
    # It went on, or began, without the stop: somebody else's stall is in the same gap.
    if began < start - BESIDE_NS or ended > end + BESIDE_NS:
        return None
    beside = (starts < ended + BESIDE_NS) & (ends > began - BESIDE_NS) & ~stood
    lengths = (ends - starts)[beside]
    if lengths[lengths >= TURN_NS].sum() > 100_000:
        return None
    starts, ends = trial.gaps("generator" if stopped == "forwarder" else "forwarder")
    beside = (starts < ended + BESIDE_NS) & (ends > began - BESIDE_NS)
    if (ends - starts)[beside].max(initial=0) > SHORT_NS or _is_late(trial, stopped, began, ended):
        return None
    return int(ended - began)


def _is_late(trial: Trial, stopped: str, began: int, ended: int) -> bool:
    """Whether the generator was late with packets that meet the stop, unless by the stop itself.

    After stalls it sends twice as much, until it has sent all that was due, be they long past.
    """
    sent, due = trial.packets["sent_ns"], trial.packets["due_ns"]
    until = began if stopped == "generator" else ended + BESIDE_NS
    near = (sent > began - BESIDE_NS) & (sent < until)
    return bool((sent - due)[near].max(initial=0) > SHORT_NS)


@contextmanager
def on_the_core_of(pid: int) -> Iterator[None]:
    """Disturb, by waking up, only the program that is stopped anyhow."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, os.sched_getaffinity(pid))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def lift_generator_and_device(taut: int) -> None:
    """Give generator and device a real-time priority, below that of who stops them."""
    for name in ("taut-forward", "taut-generate"):
        for thread in Path(f"/proc/{child_of(taut, name)}/task").iterdir():
            if (thread / "comm").read_text().strip() != "taut-writer":
                os.sched_setscheduler(int(thread.name), os.SCHED_FIFO, os.sched_param(5))


def stop_for(pid: int, ns: int) -> Window:
    """Stop a process; the times are those at which it surely stood."""
    os.kill(pid, signal.SIGSTOP)
    # It shares the core with this process, as a rule: it stands from here on.
    start = mono_raw_ns()
    # Asleep, not spinning: it stops only when it has its core once more.
    while (state := state_of(pid)) != "T":
        if state in "XZ":
            raise ProcessLookupError(f"process {pid} has ended")
        time.sleep(0.0001)
    if mono_raw_ns() - start > LONG_NS:
        start = mono_raw_ns()  # others had the core
    time.sleep(ns / 1e9)
    end = mono_raw_ns()
    os.kill(pid, signal.SIGCONT)
    return start, end


def mono_raw_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
