"""Where a command's time goes: stages, which add up to the whole.

Stages may lie in one another: a second counts for the innermost that runs. Other processes are not
looked into; who waits for them is charged.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from taut.core.processes import process_start_time

START = "start"
"""Python and its imports, up to where the command begins."""

REST = "rest"
"""What belongs to no stage."""


@dataclass(frozen=True)
class StageTime:
    """How long a stage took, all its turns together."""

    stage: str
    seconds: float


class Timings:
    """The stages of one command, in the order in which they were first entered."""

    def __init__(self, start_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = {START: start_s}
        self._running = [REST]
        self._clock = clock
        self._since = clock()

    def enter(self, name: str) -> None:
        """Count for this stage from now on."""
        self._charge()
        self._seconds.setdefault(name, 0.0)
        self._running.append(name)

    def leave(self) -> None:
        """Count again for the one around it."""
        self._charge()
        self._running.pop()

    def so_far(self) -> Sequence[StageTime]:
        """Give every stage, what belongs to none last; their sum is the age of the process."""
        self._charge()
        *named, rest = sorted(self._seconds, key=lambda name: name == REST)
        return [StageTime(name, self._seconds[name]) for name in (*named, rest)]

    def _charge(self) -> None:
        now, name = self._clock(), self._running[-1]
        self._seconds[name] = self._seconds.get(name, 0.0) + now - self._since
        self._since = now


_TIMINGS: ContextVar[Timings | None] = ContextVar("timings", default=None)
"""What `stage` adds to; None where nobody asked for timings, and `stage` then costs nothing."""


@contextmanager
def timed(is_asked: bool = True) -> Iterator[None]:
    """Time the stages of a command, if that is asked for."""
    token = _TIMINGS.set(Timings(_age_s()) if is_asked else None)
    try:
        yield
    finally:
        _TIMINGS.reset(token)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Count the time of a block, or of a function it decorates, for a stage."""
    timings = _TIMINGS.get()
    if timings is None:
        yield
        return
    timings.enter(name)
    try:
        yield
    finally:
        timings.leave()


def timings_so_far() -> Sequence[StageTime] | None:
    """Give the stages of the command that runs; None: nobody asked."""
    timings = _TIMINGS.get()
    return None if timings is None else timings.so_far()


def _age_s() -> float:
    """How long ago this process began, to a tick of the kernel's clock (10 ms)."""
    began_ticks = process_start_time(os.getpid())
    if began_ticks is None:
        return 0.0
    age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - began_ticks / os.sysconf("SC_CLK_TCK")
    return max(0.0, age_s)
