"""A membarrier."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="membarrier",
    title="a membarrier",
    why="Another thread of the process called membarrier(2), which interrupts every core "
    "that runs the process.",
    evidence=Evidence.EVENT,
    remedies=("A06",),
)
