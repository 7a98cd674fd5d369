"""Another core told this one to look at its run queue."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="reschedule",
    title="a reschedule interrupt",
    why="Another core told this one to look at its run queue.",
    evidence=Evidence.EVENT,
    remedies=(
        "R28",
        "R24",
        "K04",
    ),
    counter="interrupts:RES",
)
