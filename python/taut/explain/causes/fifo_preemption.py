"""A real-time thread ran."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="fifo-preemption",
    title="a real-time thread ran",
    why="The scheduler gave the core to a thread of real-time priority, which runs before "
    "the polling one.",
    evidence=Evidence.EVENT,
    remedies=(
        "R23",
        "R24",
        "K20",
    ),
    counter="threads:nonvoluntary",
)
