"""The cores a thread may run on."""

import errno
from dataclasses import dataclass
from typing import ClassVar

from taut.core.cpus import cores_in, parse_shown_list
from taut.host.host import Host
from taut.host.threads import start_ticks
from taut.host.writer import Writer

_REFUSED = {
    # PF_NO_SETAFFINITY, kthread_bind().
    errno.EINVAL: "bound to its core",
    # dl_task_check_affinity().
    errno.EBUSY: "its deadline (SCHED_DEADLINE) counts on all cores of its domain",
}


@dataclass(frozen=True)
class ThreadAffinity:
    """The value is a list of cores, as Cpus_allowed_list. A thread that is gone has none."""

    kind: ClassVar[str] = "thread-affinity"

    thread: int
    comm: str
    start_ticks: int
    """Field 22 of its stat (proc(5)): tells it from a later thread of the same number."""

    @property
    def name(self) -> str:
        return f"affinity of {self.comm} ({self.thread})"

    def read(self, host: Host) -> str | None:
        """Give the cores; None once the thread is gone."""
        if start_ticks(host, self.thread) != self.start_ticks:
            return None
        return host.fields(f"/proc/{self.thread}/status").get("Cpus_allowed_list")

    def write(self, writer: Writer, value: str | None) -> None:
        """Move it, if it is still there."""
        if value is not None and self.read(writer.host) is not None:
            writer.set_affinity(self.thread, parse_shown_list(value))

    def agrees(self, in_force: str | None, value: str | None) -> bool:
        """Compare as sets; a thread that is gone agrees with everything."""
        if in_force is None or value is None:
            return True
        return parse_shown_list(in_force) == parse_shown_list(value)

    def unmovable(self, error: OSError) -> str | None:
        return _REFUSED.get(error.errno or 0)


def is_online_part(host: Host, in_force: str | None, value: str | None) -> bool:
    """Whether a thread has those of its cores that are online.

    Threads start with cores that could be plugged in as well; a kernel before 6.2 takes none of
    these back (sched_setaffinity(2)).
    """
    online, cores = host.online_cores(), cores_in(value) or ()
    return bool(online) and cores_in(in_force) == tuple(c for c in cores if c in online)
