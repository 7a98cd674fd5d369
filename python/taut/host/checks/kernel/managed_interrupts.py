"""K05: interrupts whose driver chose their core."""

from collections.abc import Sequence

from taut.host.boot.item import KernelParameter
from taut.host.check import Finding, Profile, Remedy, Severity, not_applicable, unknown
from taut.host.checks.kernel import _command_line
from taut.host.checks.kernel._shape import (
    RoleCheck,
    at_boot,
    by_hand,
    can_split,
    judge_inside,
    named,
    shown,
)
from taut.host.host import Host
from taut.host.situation import Situation

_WANTED = "isolcpus=managed_irq for every poll core"


class ManagedInterrupts(RoleCheck):
    """/proc/irq cannot move them (EIO): only the kernel's parameter keeps them away."""

    id = "K05"
    title = "managed interrupts stay away"
    fault = "Managed interrupts may reach poll cores"
    severity = Severity.MAJOR
    why = (
        "NVMe, virtio and network drivers spread managed vectors over all cores, and a write to "
        "their affinity fails with EIO; each interrupt costs microseconds, tens in a guest"
    )
    source = "kernel-parameters.txt (isolcpus=managed_irq); cpu-isolation.rst; NTO #915"

    def judge(self, host: Host, situation: Situation) -> Finding:
        """Ask for the parameter where there can be managed interrupts."""
        if host.read(_command_line.PATH) is None:
            return unknown("no command line", f"a readable {_command_line.PATH}", _WANTED)
        managed = _managed(host)
        if managed == 0:
            return not_applicable("no interrupt of this machine is managed")
        covered = {
            core
            for isolation in _command_line.isolations(host)
            if "managed_irq" in isolation.flags
            for core in isolation.cores or ()
        }
        count = f"{managed} managed interrupts" if managed else "interrupts by message (MSI)"
        observed = f"isolcpus=managed_irq: {shown(tuple(sorted(covered)))}, {count}"
        return judge_inside(situation, tuple(covered), observed, _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """At boot; until then fewer queues."""
        if not can_split(situation):
            return ()
        boot = at_boot(
            self.id,
            f"keep managed interrupts off {named(situation.cores)}",
            KernelParameter("isolcpus", flags=("managed_irq",), cores=situation.cores),
            profile=Profile.MINIMAL,
            # Best effort: a queue that has isolated cores only stays where it is.
            cost="the other cores take these interrupts",
        )
        fewer = f"ethtool -L INTERFACE combined {len(situation.housekeeping)}"
        return (boot, by_hand(self.id, "give the devices fewer queues until then", fewer))


def _managed(host: Host) -> int | None:
    """How many; None where there may be some and debugfs does not tell."""
    folder = "/sys/kernel/debug/irq/irqs"
    names = host.names(folder)
    if names:
        return sum(
            "IRQD_AFFINITY_MANAGED" in (host.read(f"{folder}/{name}") or "") for name in names
        )
    # Only vectors that devices signal by a message can be managed.
    is_told = host.is_there("/sys/bus/pci/devices")
    return 0 if is_told and not host.paths("/sys/bus/pci/devices/*/msi_irqs/*") else None


CHECK = ManagedInterrupts()
