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
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_PR_SET_PDEATHSIG = 1  # prctl(2)
_WORTH_PROCESSES = 3
"""A process takes about a second to import what it needs: fewer items are done at once here."""


def spread(work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Yield the results in the order of the items; `work` must be a module's own function."""
    n_processes = min(len(os.sched_getaffinity(0)), len(items))
    if n_processes < 2 or len(items) <= _WORTH_PROCESSES:
        yield from map(work, items)
        return
    workers = [_start(work) for _ in range(n_processes)]
    try:
        yield from _in_order([pipe for _, pipe in workers], items)
    finally:
        for process, pipe in workers:
            pipe.close()
            process.kill()
            process.join()


def _start(work: Callable[[Any], Any]) -> tuple[BaseProcess, Connection]:
    # Spawned, not forked: a fork would copy the threads' locks of the libraries in use.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, work, os.getpid()), daemon=True)
    process.start()
    theirs.close()
    return process, ours


def _in_order(pipes: Sequence[Connection], items: Sequence[Any]) -> Iterator[Any]:
    """Keep every worker busy; hold back results that came before their turn."""
    todo = iter(enumerate(items))
    results: dict[int, Any] = {}
    busy: set[Connection] = {pipe for pipe in pipes if _give_next(pipe, todo)}
    for index in range(len(items)):
        while index not in results:
            for ready in wait(list(busy)):
                pipe = next(pipe for pipe in busy if pipe is ready)
                done, is_error, value = _receive(pipe)
                if is_error:
                    raise value
                results[done] = value
                if not _give_next(pipe, todo):
                    busy.remove(pipe)
        yield results.pop(index)


def _give_next(pipe: Connection, todo: Iterator[tuple[int, Any]]) -> bool:
    job = next(todo, None)
    if job is not None:
        pipe.send(job)
    return job is not None


def _receive(pipe: Connection) -> tuple[int, bool, Any]:
    try:
        index, is_error, value = pipe.recv()
    except EOFError:
        raise RuntimeError("a worker process died; memory may be too small") from None
    return index, is_error, value


def _serve(pipe: Connection, work: Callable[[Any], Any], parent: int) -> None:
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
