"""The kernel's own threads, and how threads are moved."""

from collections.abc import Iterator

from taut.core.cpus import format_cpu_list
from taut.host.setting import Change
from taut.host.settings.thread_affinity import ThreadAffinity
from taut.host.settings.thread_scheduler import POLICIES, ThreadScheduler
from taut.host.situation import Role
from taut.host.threads import Thread, hides_threads, read_thread
from taut.host.view import View

REAL_TIME = (POLICIES["fifo"], POLICIES["rr"])
"""Policies that outrank every other thread (sched(7))."""
KERNEL_THREADS = (
    "the kernel's threads in /proc: run on the host as root (a container hides them, and hidepid)"
)
"""What is needed where none of them is visible."""


def kernel_threads(see: View, name: str) -> Iterator[Thread]:
    """Give the kernel's threads whose name starts with a prefix; unreadable ones are left out."""
    for pid in see.names("/proc"):
        if not pid.isdecimal():
            continue
        # The name first: most processes are others.
        if f"({name}" not in (see.read(f"/proc/{pid}/stat") or ""):
            continue
        thread = read_thread(see.host, int(pid), int(pid))
        if thread is not None and thread.is_kernel and thread.comm.startswith(name):
            yield thread


def need_kernel_threads(see: View) -> None:
    """Raise CannotJudge where none is visible: that one of them is not seen proves nothing."""
    if next(kernel_threads(see, ""), None) is None:
        see.cannot_tell("no kernel thread is visible", KERNEL_THREADS)


def need_all_programs(see: View, observed: str) -> None:
    """Raise CannotJudge where others' programs are hidden: that one is not seen proves nothing."""
    if see.role is Role.CONTAINER or see.machine.container:
        see.cannot_tell(observed, "run on the host")
    if hides_threads(see.host):
        see.cannot_tell(observed, "run as root: /proc hides others' programs (hidepid)")


def move(thread: Thread, cores: str) -> Change:
    """Let a thread run on these cores only."""
    return Change(ThreadAffinity(thread.tid, thread.comm, thread.start_ticks), cores)


def set_priority(thread: Thread, priority: int) -> Change:
    """Let a thread run under SCHED_FIFO at this priority."""
    return Change(ThreadScheduler(thread.tid, thread.comm, thread.start_ticks), f"fifo {priority}")


def move_off(see: View, thread: Thread) -> Change:
    """Take the poll cores from a thread's cores; with none left, give it all housekeeping cores.

    It keeps cores that are set apart for somebody else: it may be theirs.
    """
    left = [core for core in thread.allowed if core in see.online and core not in see.cores]
    return move(thread, format_cpu_list(left or see.housekeeping))
