"""V03: exits of a virtual CPU that spins."""

from taut.host.check import Severity
from taut.host.checks.kvm_host._module import ModuleCheck, Parameter

CHECK = ModuleCheck(
    id="V03",
    title="exits of a spinning virtual CPU",
    fault="A spinning virtual CPU leaves its guest",
    severity=Severity.MAJOR,
    why="pause-loop exiting takes a poll loop with PAUSE in it for a lock and leaves the guest: "
    "an exit of microseconds every few thousand iterations",
    source="tuned realtime-virtual-host",
    parameters=(
        Parameter("kvm_intel", "ple_gap", ("0",), "0"),
        Parameter("kvm_amd", "pause_filter_count", ("0",), "0"),
    ),
    risk="guests with more virtual CPUs than cores wait longer for their locks",
)
