"""R14: whether the kernel moves pages together before anybody asks."""

from taut.host.boot.item import Sysctl
from taut.host.check import Severity
from taut.host.shapes import EVERYWHERE, FileCheck

# vm.extfrag_threshold is for compaction somebody waits for: it moves none of this work.
CHECK = FileCheck(
    id="R14",
    title="proactive compaction",
    fault="Proactive compaction is on",
    severity=Severity.MINOR,
    why="moving a page shoots down its TLB entries on every core that runs the process, isolated "
    "ones too",
    source="Gallenmüller et al. 2021 and rigtorp.se (cause); value from general knowledge",
    path="/proc/sys/vm/compaction_proactiveness",
    is_good=lambda text: int(text) == 0,
    wanted="0: off",
    value="0",
    roles=EVERYWHERE,
    boot=(Sysctl("vm.compaction_proactiveness", "0"),),
    risk="later allocations of huge pages may fail",
)
