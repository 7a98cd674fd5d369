"""A TLB shootdown."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="tlb-shootdown",
    title="a TLB shootdown",
    why="Another thread of the process unmapped or reprotected memory, and every core that "
    "runs the process was interrupted to forget the mapping.",
    evidence=Evidence.EVENT,
    remedies=(
        "A05",
        "HW15",
        "R13",
        "K23",
        "R12",
    ),
    counter="interrupts:TLB",
)
