"""C04: how much memory the container may lock, and how many hugepages it may take."""

import re
from collections.abc import Sequence

from taut.host.check import Finding, Remedy, Severity, failed, passed, unknown
from taut.host.checks.container._shape import ContainerCheck, cgroup_file
from taut.host.host import Host
from taut.host.shapes import on_the_host
from taut.host.situation import Situation

_SIZES = ("2MB", "1GB")
# capabilities(7): its owner's limit does not count.
_CAP_IPC_LOCK = 1 << 14
_WANTED = "memory locked without limit, and a limit of hugepages above 0"


class MemoryLimits(ContainerCheck):
    """Of the programs that poll; where none does, of this one."""

    id = "C04"
    title = "limits of locked memory and hugepages"
    fault = "Locked memory or hugepages are limited"
    severity = Severity.MAJOR
    why = (
        "memory that cannot be locked faults, and may be swapped: microseconds to milliseconds; "
        "a DPDK program without hugepages does not start"
    )
    source = "getrlimit(2); cgroup-v2.rst (hugetlb)"

    def judge(self, host: Host, situation: Situation) -> Finding:
        """The smallest limit decides."""
        processes = [str(process) for process in situation.processes] or ["self"]
        limits = {process: _locked(host, process) for process in processes}
        if any(limit is None for limit in limits.values()):
            needs = "a readable /proc/PID/limits; run as the programs' user or root"
            return unknown("limits are not told", needs, _WANTED)
        pages = _hugepages(host)
        wrong = [
            f"process {process} may lock {limit} bytes"
            for process, limit in limits.items()
            if limit != "unlimited"
        ]
        if pages and all(limit == "0" for limit in pages.values()):
            wrong.append("no hugepage is allowed")
        shown = ", ".join(f"{size} {limit}" for size, limit in pages.items()) or "not limited"
        if wrong:
            return failed(f"{'; '.join(wrong)} (hugepages: {shown})", _WANTED)
        return passed(f"locked memory unlimited, hugepages: {shown}", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Limits are given from outside."""
        what = (
            "Docker, Podman: --ulimit memlock=-1; Kubernetes: hugepages-1Gi or hugepages-2Mi in"
            " resources.limits, and the runtime's memlock default"
        )
        return (on_the_host(self.id, what),)


def _locked(host: Host, process: str) -> str | None:
    """Give the soft limit in bytes, or unlimited: also for who may lock without limit."""
    rights = host.fields(f"/proc/{process}/status").get("CapEff", "")
    if re.fullmatch("[0-9a-f]{1,16}", rights) and int(rights, 16) & _CAP_IPC_LOCK:
        return "unlimited"
    for line in (host.read(f"/proc/{process}/limits") or "").splitlines():
        words = line.removeprefix("Max locked memory").split()
        if line.startswith("Max locked memory") and words:
            return words[0] if words[0] == "unlimited" or words[0].isdecimal() else None
    return None


def _hugepages(host: Host) -> dict[str, str]:
    """Give the limit of each size, as far as there is one."""
    found = {}
    for size in _SIZES:
        path = cgroup_file(host, f"hugetlb.{size}.max")
        path = path or f"/sys/fs/cgroup/hugetlb/hugetlb.{size}.limit_in_bytes"
        if text := host.read(path):
            found[size] = text[:20]
    return found


CHECK = MemoryLimits()
