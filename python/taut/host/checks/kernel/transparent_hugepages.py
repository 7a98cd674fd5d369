"""K23: transparent huge pages."""

import re

from taut.host.boot.item import KernelParameter
from taut.host.check import Severity
from taut.host.shapes import POLLING, FileCheck
from taut.host.situation import Role


def _is_good(text: str) -> bool:
    chosen = re.search(r"\[(\w+)\]", text)
    if chosen is None:
        raise ValueError(text)
    return chosen[1] in ("never", "madvise")


CHECK = FileCheck(
    id="K23",
    title="no transparent huge pages",
    fault="Transparent huge pages are on",
    severity=Severity.MAJOR,
    why="khugepaged and compaction move pages under a running program: each move interrupts every "
    "core that runs it to flush its TLB (15 µs in a guest) and the next touch faults",
    source="tuned; rigtorp.se; Ducked Tails (2021); measured",
    path="/sys/kernel/mm/transparent_hugepage/enabled",
    is_good=_is_good,
    wanted="never (or madvise)",
    value="never",
    form="choice",
    roles=POLLING | {Role.HOUSEKEEPING},
    boot=(KernelParameter("transparent_hugepage", "never"),),
    cost="programs with large heaps lose some throughput",
)
