"""Spread independent work over processes that never outlive the one that started them.

Processes and pipes only: a process pool has named semaphores in /dev/shm, which nobody removes when
all processes are killed at once.
"""

import ctypes
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_PR_SET_PDEATHSIG = 1  # prctl(2)
_WORTH_PROCESSES = 3
"""A new process needs about a second for its imports: fewer items are done in this process."""


def spread(work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Yield the results in the order of the items; `work` must be a function at module level."""
    n_processes = min(len(os.sched_getaffinity(0)), len(items))
    if n_processes < 2 or len(items) <= _WORTH_PROCESSES:
        yield from map(work, items)
        return
    workers = [_start(work) for _ in range(n_processes)]
    try:
        yield from _in_order(workers, items)
    finally:
        for worker in workers:
            worker.pipe.close()
            worker.process.kill()
            worker.process.join()


@dataclass(frozen=True)
class _Worker(Generic[Item, Result]):
    """A process that does the work of one item after another."""

    process: BaseProcess
    pipe: Connection

    def give_next(self, todo: Iterator[tuple[int, Item]]) -> bool:
        """Send it an item with its place; False: none is left."""
        job = next(todo, None)
        if job is not None:
            self.pipe.send(job)
        return job is not None

    def result(self) -> tuple[int, Result]:
        """Receive what it made of an item, and the item's place; raises what the work raised."""
        try:
            index, is_error, value = self.pipe.recv()
        except EOFError:
            raise RuntimeError("a worker process died; memory may be too small") from None
        if is_error:
            raise value
        return index, value


def _start(work: Callable[[Item], Result]) -> _Worker[Item, Result]:
    # Spawned, not forked: a fork would copy the threads' locks of the libraries in use.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, work, os.getpid()), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _in_order(workers: Sequence[_Worker[Item, Result]], items: Sequence[Item]) -> Iterator[Result]:
    """Keep every worker busy; hold back results that came before their turn."""
    todo = iter(enumerate(items))
    results: dict[int, Result] = {}
    busy = [worker for worker in workers if worker.give_next(todo)]
    for index in range(len(items)):
        while index not in results:
            ready = wait([worker.pipe for worker in busy])
            for worker in [worker for worker in busy if worker.pipe in ready]:
                done, value = worker.result()
                results[done] = value
                if not worker.give_next(todo):
                    busy.remove(worker)
        yield results.pop(index)


def _serve(pipe: Connection, work: Callable[[Item], object], parent: int) -> None:
    """In the new process: die with the parent, leave Ctrl-C to it, answer until the pipe ends."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.getppid() != parent:
        os._exit(1)
    with suppress(EOFError, BrokenPipeError):
        while True:
            index, item = pipe.recv()
            try:
                answer = (index, False, work(item))
            except Exception as error:  # noqa: BLE001 - it is raised in the parent
                answer = (index, True, error)
            pipe.send(answer)
