"""K10: how long RCU waits before it pokes a core without a tick."""

from taut.host.boot.item import KernelParameter
from taut.host.check import Finding, Severity, not_applicable
from taut.host.checks.kernel._shape import CPU
from taut.host.host import Host
from taut.host.shapes import FileCheck
from taut.host.situation import Situation


class RcuPatience(FileCheck):
    """Only kernels with NO_HZ_FULL look at the value."""

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Compare, where it has an effect."""
        is_asked = situation.role in self.roles and host.is_there(self.path)
        if is_asked and not host.is_there(f"{CPU}/nohz_full"):
            return not_applicable("no effect: this kernel has no nohz_full (K02)")
        return super().inspect(host, situation)


CHECK = RcuPatience(
    id="K10",
    title="RCU's patience with tickless cores",
    fault="RCU soon loses patience with tickless cores",
    severity=Severity.MINOR,
    why="a grace period that waits for a core in nohz_full turns its tick on and interrupts it "
    "after a few jiffies; with a second of patience most grace periods end before",
    source="tuned network-latency; Linux 6.11 (nohz_full_patience_delay)",
    path="/sys/module/rcutree/parameters/nohz_full_patience_delay",
    is_good=lambda text: int(text) >= 1000,
    wanted="1000 ms or more",
    value=None,
    boot=(KernelParameter("rcutree.nohz_full_patience_delay", "1000"),),
    cost="grace periods last up to a second longer",
)
