"""A softirq."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="softirq",
    title="a softirq",
    why="The kernel did deferred work of interrupts (network, timers, RCU, the scheduler) "
    "on the core.",
    evidence=Evidence.EVENT,
    remedies=(
        "R04",
        "R03",
        "K08",
        "R11",
    ),
    counter="softirqs:any",
)
