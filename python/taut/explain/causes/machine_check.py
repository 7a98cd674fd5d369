"""The processor reported an error of the hardware."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="machine-check",
    title="a machine check",
    why="The processor reported an error of the hardware.",
    evidence=Evidence.EVENT,
    remedies=(
        "K18",
        "R20",
        "HW08",
    ),
    counter="interrupts:MCE",
)
