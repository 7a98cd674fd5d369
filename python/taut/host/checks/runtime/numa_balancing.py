"""R13: whether the kernel moves pages to the node that uses them."""

from taut.host.boot.item import KernelParameter
from taut.host.check import Severity
from taut.host.shapes import EVERYWHERE, FileCheck

CHECK = FileCheck(
    id="R13",
    title="NUMA balancing",
    fault="NUMA balancing is on",
    severity=Severity.MAJOR,
    why="to see who uses a page it takes the page's mapping away: every sweep costs page faults "
    "and TLB shootdowns on the application's cores",
    source="tuned; Intel NFV-I host configuration; rigtorp.se low latency guide",
    path="/proc/sys/kernel/numa_balancing",
    is_good=lambda text: int(text) == 0,
    wanted="0: off",
    value="0",
    roles=EVERYWHERE,
    boot=(KernelParameter("numa_balancing", "disable"),),
    cost="programs that are not pinned may use memory of the far node",
)
