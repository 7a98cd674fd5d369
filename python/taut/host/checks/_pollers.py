"""The programs and threads that poll."""

from collections.abc import Sequence

from taut.core.cpus import CpuSet, format_cpu_list
from taut.host.threads import Thread, some, threads_of
from taut.host.view import View


def polling_threads(see: View) -> list[Thread]:
    """Give the threads pinned to poll cores; where nobody named any, those pinned to one core."""
    poll = set(see.cores)
    return [
        thread
        for pid in see.situation.processes
        for thread in threads_of(see.host, pid)
        if (poll.issuperset(thread.allowed) if poll else len(thread.allowed) == 1)
    ]


def polled_cores(threads: Sequence[Thread]) -> CpuSet:
    """Give the cores of these threads."""
    return tuple(sorted({core for thread in threads for core in thread.allowed}))


def need_processes(see: View) -> Sequence[int]:
    """Give the processes that poll; CannotJudge: there is none, or none to be seen."""
    processes = see.situation.processes
    if not processes:
        see.skip("no polling process named or found")
    if not any(list(threads_of(see.host, pid)) for pid in processes):
        see.cannot_tell(f"{_named(see)}: gone, or not visible", "a program that runs", "")
    return processes


def need_pollers(see: View) -> list[Thread]:
    """Give the threads that poll; CannotJudge: there is none."""
    need_processes(see)
    found = polling_threads(see)
    if not found:
        where = f"cores {format_cpu_list(see.cores)}" if see.cores else "one core"
        see.skip(f"no thread of {_named(see)} is pinned to {where} (A02)")
    return found


def both(see: View, thread: Thread, name: str) -> tuple[str, str] | None:
    """Give a thread's file before and after; None where one of them is missing."""
    path = f"/proc/{thread.pid}/task/{thread.tid}/{name}"
    before, after = see.watched.before.get(path), see.watched.after.get(path)
    return None if before is None or after is None else (before, after)


def _named(see: View) -> str:
    return f"process {some([str(pid) for pid in see.situation.processes])}"
