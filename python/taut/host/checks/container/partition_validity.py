"""C06: whether the container's cpuset partition is valid, all the time."""

from collections.abc import Sequence

from taut.host.check import (
    Finding,
    Remedy,
    Severity,
    failed,
    not_applicable,
    passed,
    unknown,
    unreadable,
)
from taut.host.checks.container._shape import ContainerCheck, cgroup_file
from taut.host.host import Host
from taut.host.shapes import on_the_host
from taut.host.situation import Situation

_NAME = "cpuset.cpus.partition"
_WANTED = "isolated (or root), valid whenever it is read"
_PARTITIONS = ("isolated", "root")


class PartitionValidity(ContainerCheck):
    """The kernel takes validity back by itself, and says why in the same file."""

    id = "C06"
    title = "cpuset partition stays valid"
    fault = "The cpuset partition is invalid"
    severity = Severity.MAJOR
    why = (
        "a sibling's cpuset that overlaps, or a core that goes offline, ends the isolation "
        "silently: the scheduler balances over the cores again"
    )
    source = "cgroup-v2.rst (cpuset.cpus.partition)"
    watches = (f"/sys/fs/cgroup/{_NAME}", f"/sys/fs/cgroup/*/{_NAME}")

    def judge(self, host: Host, situation: Situation) -> Finding:
        """As it is, and as it was while watched."""
        path = cgroup_file(host, _NAME)
        if path is None:
            return not_applicable(f"no {_NAME} here: cgroup v1, or the root of all cgroups")
        text = host.read(path)
        if text is None:
            return unreadable(host, path, _WANTED)
        watched = situation.watched
        seen = [text, *(each[path] for each in (watched.before, watched.after) if path in each)]
        if invalid := [each for each in seen if " invalid" in each]:
            return failed(f"{path} = {invalid[0][:120].strip()}", _WANTED)
        if text == "member":
            return not_applicable("no partition here: isolation is the machine's (K04)")
        if text not in _PARTITIONS:
            return unknown(f"{path}: {text[:60]!r}", "a kernel whose format taut knows", _WANTED)
        return passed(f"{path} = {text}", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Partitions are made from outside."""
        what = (
            "free the partition's cores of every other cpuset, bring them online, then write"
            f" isolated to the container's {_NAME} again"
        )
        return (on_the_host(self.id, what),)


CHECK = PartitionValidity()
