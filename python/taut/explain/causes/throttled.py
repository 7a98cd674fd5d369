"""The thread was throttled."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="throttled",
    title="the thread was throttled",
    why="The thread had used up its quota of the processor (a control group's, or of real-"
    "time threads) and had to wait for the next period.",
    evidence=Evidence.EVENT,
    remedies=(
        "A09",
        "R09",
        "R10",
    ),
    counter="cgroups:throttled_us",
)
