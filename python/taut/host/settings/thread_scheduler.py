"""The scheduling policy and priority of a thread."""

import errno
from dataclasses import dataclass
from typing import ClassVar

from taut.host.host import Host
from taut.host.threads import start_ticks, stat_fields
from taut.host.writer import Writer

# sched(7); the numbers are the kernel's (uapi/linux/sched.h).
POLICIES = {"other": 0, "fifo": 1, "rr": 2, "batch": 3, "idle": 5, "deadline": 6}


@dataclass(frozen=True)
class ThreadScheduler:
    """The value is `policy priority`: "fifo 2", "other 0"."""

    kind: ClassVar[str] = "thread-scheduler"

    thread: int
    comm: str
    start_ticks: int

    @property
    def name(self) -> str:
        return f"scheduling of {self.comm} ({self.thread})"

    def read(self, host: Host) -> str | None:
        """Give fields 40 and 41 of its stat (proc(5)); None once the thread is gone."""
        if start_ticks(host, self.thread) != self.start_ticks:
            return None
        fields = stat_fields(host.read(f"/proc/{self.thread}/stat") or "")
        priority, policy = int(fields[37]), int(fields[38])
        names = {number: name for name, number in POLICIES.items()}
        return f"{names.get(policy, policy)} {priority}"

    def write(self, writer: Writer, value: str | None) -> None:
        """Set both, if the thread is still there."""
        if value is None or self.read(writer.host) is None:
            return
        policy, priority = value.split()
        if policy not in POLICIES:
            raise OSError(errno.EINVAL, f"{self.name}: no policy {policy}")
        writer.set_scheduler(self.thread, POLICIES[policy], int(priority))

    def agrees(self, in_force: str | None, value: str | None) -> bool:
        """A thread that is gone agrees with everything."""
        return in_force is None or value is None or in_force == value

    def unmovable(self, error: OSError) -> str | None:  # noqa: ARG002 - settings share signatures
        return None
