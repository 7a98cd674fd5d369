"""What the checks of this group share: they are asked inside containers, about their own cgroup."""

from abc import ABC, abstractmethod

from taut.core.cpus import CpuSet
from taut.host.check import Check, Finding, not_applicable
from taut.host.host import Host
from taut.host.situation import Role, Situation
from taut.host.threads import core_set

_CGROUPS = "/sys/fs/cgroup"


class ContainerCheck(Check, ABC):
    """Judges inside a container; elsewhere there is nothing to ask."""

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Judge, if this is a container."""
        if situation.role is not Role.CONTAINER:
            return not_applicable(f"not asked of a {situation.role}")
        return self.judge(host, situation)

    @abstractmethod
    def judge(self, host: Host, situation: Situation) -> Finding:
        """Judge."""


def own_cores(host: Host, situation: Situation) -> CpuSet:
    """Cores named, else those this process may run on; none: not told."""
    return situation.cores or cores_in(host.fields("/proc/self/status").get("Cpus_allowed_list"))


def cores_in(text: str | None) -> CpuSet:
    """Read a list of cores; none where it is none."""
    # A longer number is no core, and its range would fill the memory.
    if text is None or any(len(part) > 5 for part in text.replace("-", ",").split(",")):
        return ()
    return core_set(text) or ()


def cgroup_file(host: Host, name: str) -> str | None:
    """Path of a file of our own cgroup (v2); None where there is none.

    With a namespace of its own a container sees its cgroup as the root; without, as a path.
    """
    for line in (host.read("/proc/self/cgroup") or "").splitlines():
        path = line.removeprefix("0::")
        if path != line and path.startswith("/") and ".." not in path.split("/"):
            own = f"{_CGROUPS}{path.rstrip('/')}/{name}"
            if host.is_there(own):
                return own
    return f"{_CGROUPS}/{name}" if host.is_there(f"{_CGROUPS}/{name}") else None
