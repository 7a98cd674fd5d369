"""The control group this process is in: what a container may use."""

from taut.core.cpus import CpuSet, cores_in
from taut.host.host import Host

CGROUPS = "/sys/fs/cgroup"
STATUS = "/proc/self/status"


def own_cores(host: Host) -> CpuSet:
    """Give the cores it may use, online or not; none: not told."""
    path = own_group_file(host, "cpuset.cpus.effective")
    # Of cgroup v1 the mask of this process tells the same.
    text = host.read(path) if path else host.fields(STATUS).get("Cpus_allowed_list")
    return cores_in(text) or ()


def own_group_file(host: Host, name: str) -> str | None:
    """Path of a file of our own cgroup (v2); None where there is none.

    With a namespace of its own a container sees its cgroup as the root; without, as a path.
    """
    for line in (host.read("/proc/self/cgroup") or "").splitlines():
        path = line.removeprefix("0::")
        if path != line and path.startswith("/") and ".." not in path.split("/"):
            own = f"{CGROUPS}{path.rstrip('/')}/{name}"
            if host.is_there(own):
                return own
    return f"{CGROUPS}/{name}" if host.is_there(f"{CGROUPS}/{name}") else None
