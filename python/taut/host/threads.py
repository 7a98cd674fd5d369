"""The threads of a machine, as /proc tells of them. What vanishes while read is left out."""

from collections.abc import Iterator
from dataclasses import dataclass

from taut.core.cpus import CpuSet, cores_in
from taut.core.processes import process_start_time
from taut.core.processes import stat_fields as stat_fields
from taut.host.host import Host

_PF_KTHREAD = 0x00200000
_PF_NO_SETAFFINITY = 0x04000000
PID_NAMESPACE = "/proc/self/ns/pid"


@dataclass(frozen=True)
class Thread:
    """One thread; numbers are those of its stat (proc(5))."""

    pid: int
    tid: int
    comm: str
    start_ticks: int
    flags: int
    last_core: int
    priority: int
    """Real-time priority; 0: none."""
    policy: int
    allowed: CpuSet

    @property
    def is_kernel(self) -> bool:
        """Whether it is a thread of the kernel."""
        return bool(self.flags & _PF_KTHREAD)

    @property
    def is_bound(self) -> bool:
        """Whether the kernel refuses to move it (kthread_bind)."""
        return bool(self.flags & _PF_NO_SETAFFINITY)

    def __str__(self) -> str:
        return f"{self.comm} ({self.tid})"


def all_threads(host: Host) -> Iterator[Thread]:
    """Every thread this user may see, in the order of process numbers."""
    # A copied machine may list all threads like processes; a process comes before its threads.
    seen: set[int] = set()
    for pid in sorted(int(name) for name in host.names("/proc") if name.isdecimal()):
        if pid not in seen:
            for thread in threads_of(host, pid):
                seen.add(thread.tid)
                yield thread


def hides_threads(host: Host) -> bool:
    """Whether /proc keeps the kernel's threads from us, and others': a container, or hidepid.

    A copied machine may lack these files: what it lacks is not hidden.
    """
    return host.read("/proc/2/comm") != "kthreadd" and host.link_target(PID_NAMESPACE) is not None


def threads_of(host: Host, pid: int) -> Iterator[Thread]:
    """Give the threads of one process; none when it is gone."""
    tids = sorted(int(name) for name in host.names(f"/proc/{pid}/task") if name.isdecimal())
    for tid in tids or (pid,):
        thread = read_thread(host, pid, tid)
        if thread is not None:
            yield thread


def read_thread(host: Host, pid: int, tid: int) -> Thread | None:
    """Read a thread; None when it is gone or what /proc says makes no sense."""
    stat = read_of_thread(host, pid, tid, "stat") or ""
    status = read_of_thread(host, pid, tid, "status") or ""
    fields = stat_fields(stat)
    allowed = cores_in(status_field(status, "Cpus_allowed_list"))
    if not allowed or len(fields) < 39:
        return None
    try:
        return Thread(
            pid=pid,
            tid=tid,
            comm=comm_of(stat),
            start_ticks=int(fields[19]),
            flags=int(fields[6]),
            last_core=int(fields[36]),
            priority=int(fields[37]),
            policy=int(fields[38]),
            allowed=allowed,
        )
    except ValueError:
        return None


def read_of_thread(host: Host, pid: int, tid: int, name: str) -> str | None:
    """Give a file of a thread: /proc/TID is not listed but there; a copied machine may lack it."""
    text = host.read(f"/proc/{tid}/{name}")
    return host.read(f"/proc/{pid}/task/{tid}/{name}") if text is None else text


def start_ticks(host: Host, thread: int) -> int | None:
    """When a thread or process began, in clock ticks since boot; None: it is gone or dead."""
    return process_start_time(thread, host.root)


def comm_of(stat: str) -> str:
    """Give the name in a stat, which may hold parentheses."""
    return stat.rpartition(")")[0].partition("(")[2]


def status_field(status: str, name: str) -> str | None:
    """Give one line of a status file."""
    for line in status.splitlines():
        if line.startswith(f"{name}:"):
            return line.partition(":")[2].strip()
    return None


def some(names: list[str], most: int = 4) -> str:
    """Name the first few: "a, b and 3 more"."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
