"""The firmware took the core."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="smi",
    title="a system management interrupt",
    why="The firmware took the core; the kernel cannot see it.",
    evidence=Evidence.EXCLUSION,
    remedies=(
        "HW04",
        "HW05",
        "HW07",
        "HW08",
    ),
    counter="smi",
)
