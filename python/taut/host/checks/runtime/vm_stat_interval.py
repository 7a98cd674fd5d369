"""R06: how often per-CPU memory statistics are folded."""

from taut.host.boot.item import Sysctl
from taut.host.check import Severity
from taut.host.shapes import FileCheck

CHECK = FileCheck(
    id="R06",
    title="memory statistics interval",
    fault="Memory statistics are folded too often",
    severity=Severity.MAJOR,
    why="every interval a kworker (vmstat_update) preempts the poller: 7 µs on a host, more than "
    "50 µs as its guest sees it; kernels since 6.5 spare isolated cores",
    source="kernel-per-CPU-kthreads.rst; tuned network-latency (10 s); RHEL MR 2753; Gallenmüller "
    "et al. 2021 (3600 s)",
    path="/proc/sys/vm/stat_interval",
    is_good=lambda text: int(text) >= 10,
    wanted="10 s or more",
    value="120",
    boot=(Sysctl("vm.stat_interval", "120"),),
    cost="figures in /proc/vmstat are up to two minutes old",
)
