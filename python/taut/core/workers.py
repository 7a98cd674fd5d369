"""Spread independent work over processes that never outlive the one that started them."""

import ctypes
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_PR_SET_PDEATHSIG = 1  # prctl(2)
_WORTH_A_POOL = 3
"""A process takes about a second to import what it needs: fewer items are done at once here."""


def spread(work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Yield the results in the order of the items; `work` must be a module's own function."""
    n_processes = min(len(os.sched_getaffinity(0)), len(items))
    if n_processes < 2 or len(items) <= _WORTH_A_POOL:
        yield from map(work, items)
        return
    # Spawned, not forked: a fork would copy the threads' locks of the libraries in use.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_processes, context, _prepare, (os.getpid(),)) as pool:
        try:
            yield from pool.map(work, items)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _prepare(parent: int) -> None:
    """In the new process: die with the parent, leave Ctrl-C to it."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.getppid() != parent:
        os._exit(1)
