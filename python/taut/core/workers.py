"""Spread independent work over this process and others that never outlive it.

Processes and pipes only: a process pool has named semaphores in /dev/shm, which nobody removes when
all processes are killed at once.
"""

import multiprocessing
import os
import signal
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from contextvars import Context
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from threading import Thread
from types import ModuleType
from typing import Generic, TypeVar

from taut.core.dying import die_with
from taut.core.plugins import PluginWarning

Item = TypeVar("Item")
Result = TypeVar("Result")

_WORTH_PROCESSES = 3
"""A new process needs about a second for its imports: fewer items are done in this process."""


def spread(work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Yield the results in the order of the items.

    `work` must be a function at the level of a module that can be imported, not of the program's.

    This process works, too, while the others still import what the work needs.
    """
    n_helpers = min(len(os.sched_getaffinity(0)), len(items)) - 1
    if n_helpers < 1 or len(items) <= _WORTH_PROCESSES:
        yield from map(work, items)
        return
    jobs: list[_Job[Item, Result]] = [_Job(item) for item in items]
    todo = deque(jobs)
    helpers = [_start(work) for _ in range(n_helpers)]
    try:
        for helper in helpers:
            Thread(target=_do_all, args=(helper.result_of, todo), daemon=True).start()
        for job in jobs:
            # The context of none: stages are not timed here either (timings.py).
            while not job.result.done() and Context().run(_do_next, work, todo):
                pass
            yield job.result.result()
    finally:
        todo.clear()
        for helper in helpers:
            helper.process.kill()
            helper.process.join()


@dataclass(frozen=True)
class _Job(Generic[Item, Result]):
    """An item, and what becomes of it."""

    item: Item
    result: Future[Result] = field(default_factory=Future)


def _do_next(work: Callable[[Item], Result], todo: deque[_Job[Item, Result]]) -> bool:
    """Do the first job that nobody has begun; False: there is none."""
    try:
        job = todo.popleft()
    except IndexError:
        return False
    try:
        job.result.set_result(work(job.item))
    except Exception as error:  # noqa: BLE001 - it is raised where the result is wanted
        job.result.set_exception(error)
    return True


def _do_all(work: Callable[[Item], Result], todo: deque[_Job[Item, Result]]) -> None:
    while _do_next(work, todo):
        pass


@dataclass(frozen=True)
class _Helper(Generic[Item, Result]):
    """A process that does the work of one item after another."""

    process: BaseProcess
    pipe: Connection

    def result_of(self, item: Item) -> Result:
        """Wait for what it makes of an item; raises what the work raised."""
        try:
            self.pipe.send(item)
            is_error, value = self.pipe.recv()
        except (EOFError, ConnectionError):
            raise RuntimeError("a worker process died; memory may be too small") from None
        if is_error:
            raise value
        result: Result = value
        return result


def _start(work: Callable[[Item], Result]) -> _Helper[Item, Result]:
    # Spawned, not forked: a fork would copy the threads' locks of the libraries in use.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, work, os.getpid()), daemon=True)
    with _without_main():
        process.start()
    theirs.close()
    return _Helper(process, ours)


@contextmanager
def _without_main() -> Iterator[None]:
    """Hide the program's own module: a new process would run it again, and needs none of it.

    Who calls taut from a script thus needs no `if __name__ == "__main__":`.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _serve(pipe: Connection, work: Callable[[Item], object], parent: int) -> None:
    """In the new process: die with the parent, leave Ctrl-C to it, answer until the pipe ends."""
    die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The parent has said it.
    warnings.simplefilter("ignore", PluginWarning)
    with suppress(EOFError, BrokenPipeError):
        while True:
            item = pipe.recv()
            try:
                answer = (False, work(item))
            except Exception as error:  # noqa: BLE001 - it is raised in the parent
                answer = (True, error)
            pipe.send(answer)
