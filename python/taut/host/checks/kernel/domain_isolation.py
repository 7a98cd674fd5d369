"""K04: cores the scheduler leaves alone."""

from collections.abc import Sequence

from taut.core.cpus import format_cpu_list
from taut.host.boot.item import KernelParameter
from taut.host.check import (
    Finding,
    Profile,
    Remedy,
    Severity,
    failed,
    passed,
    unknown,
)
from taut.host.checks._isolated import BOOT, Isolated, isolated
from taut.host.checks.kernel._shape import (
    RoleCheck,
    at_boot,
    can_split,
    judge_inside,
    named,
    unread,
)
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.cpuset_partition import (
    CpusetController,
    CpusetPartition,
    cpuset_root,
)
from taut.host.shapes import EVERYWHERE, on_the_host
from taut.host.situation import Role, Situation

_WANTED = "every poll core isolated (isolcpus=domain or an isolated cpuset partition)"


class DomainIsolation(RoleCheck):
    """In force at boot (isolcpus) or since (cpusets): either will do."""

    id = "K04"
    title = "cores are isolated from the scheduler"
    fault = "Cores are not isolated"
    severity = Severity.CRITICAL
    why = (
        "a foreign thread that the scheduler puts on a poll core stays a whole slice: 4.0 ms per "
        "gap with one busy neighbour; unbound kernel work and timers follow the same sets"
    )
    source = "cpu-isolation.rst; housekeeping.rst; kernel-parameters.txt (isolcpus); measured"
    roles = EVERYWHERE

    def judge(self, host: Host, situation: Situation) -> Finding:
        """Compare the sets in force with the poll cores."""
        found = isolated(host)
        if found is None:
            return unread(host, BOOT, _WANTED)
        if situation.role is Role.HOUSEKEEPING:
            return _judge_housekeeping(found)
        if situation.role is Role.CONTAINER and not set(situation.cores) <= set(found.cores):
            needs = "cat /sys/fs/cgroup/cpuset.cpus.isolated on the host: a container sees isolcpus"
            return unknown(str(found), f"{needs} only", _WANTED)
        return judge_inside(situation, found.cores, str(found), _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Set them apart now by cpusets, at boot by isolcpus."""
        if situation.role is Role.CONTAINER:
            return (on_the_host(self.id, "give the container exclusive, isolated cores"),)
        if situation.role is Role.HOUSEKEEPING:
            return ()
        if not can_split(situation):
            return ()
        boot = at_boot(
            self.id,
            f"isolate {named(situation.cores)} at boot",
            KernelParameter("isolcpus", flags=("domain",), cores=situation.cores),
            profile=Profile.MINIMAL,
            risk="nothing balances threads there: each must be pinned to its own core",
            cost="these cores run only what is placed there",
        )
        return (_now(host, situation), boot)


def _now(host: Host, situation: Situation) -> Remedy:
    changes = [Change(CpusetPartition("taut"), format_cpu_list(situation.cores))]
    if cpuset_root(host) is not None:
        changes.insert(0, Change(CpusetController(), "on"))
    return Remedy(
        "K04-now",
        f"set {named(situation.cores)} apart by cpusets",
        changes=changes,
        profile=Profile.MINIMAL,
        # What it means on this machine is in the plan's notes.
        risk="a program that polls must be started in its group, or on its core",
        cost="these cores run only what is placed there",
    )


def _judge_housekeeping(found: Isolated) -> Finding:
    wanted = "no core isolated where nothing polls"
    if found.cores:
        return failed(str(found), wanted, found.cores, "Housekeeping cores are isolated")
    return passed(str(found), wanted)


CHECK = DomainIsolation()
