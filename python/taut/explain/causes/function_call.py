"""Another core had the kernel run a function on this one."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="function-call",
    title="a function called from another core",
    why="Another core had the kernel run a function on this one.",
    evidence=Evidence.EVENT,
    remedies=(
        "R28",
        "K11",
        "K13",
    ),
    counter="interrupts:CAL",
)
