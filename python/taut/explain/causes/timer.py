"""The tick or a high-resolution timer of that core expired, and its handler ran there."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="timer",
    title="a timer interrupt",
    why="The tick or a high-resolution timer of that core expired, and its handler ran there.",
    evidence=Evidence.EVENT,
    remedies=(
        "K06",
        "R29",
        "A08",
        "R11",
        "K07",
        "K20",
    ),
    counter="interrupts:LOC",
)
