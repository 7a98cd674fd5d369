"""V04: the periodic resynchronisation of kvm-clock."""

from taut.host.check import Severity
from taut.host.checks.kvm_host._module import ModuleCheck, Parameter

CHECK = ModuleCheck(
    id="V04",
    title="periodic resynchronisation of kvm-clock",
    fault="kvm-clock is resynchronised every five minutes",
    severity=Severity.MINOR,
    why="every five minutes each virtual CPU of each guest leaves the guest to take over the clock",
    source="tuned realtime-virtual-host",
    parameters=(Parameter("kvm", "kvmclock_periodic_sync", ("N", "0"), "0"),),
    risk="a guest that keeps time by kvm-clock may drift; one with an invariant TSC does not",
)
