"""The scheduler gave the core to another thread of ordinary priority."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="preemption",
    title="another thread ran",
    why="The scheduler gave the core to another thread of ordinary priority.",
    evidence=Evidence.EVENT,
    remedies=(
        "R24",
        "K04",
        "R22",
    ),
    counter="threads:nonvoluntary",
)
