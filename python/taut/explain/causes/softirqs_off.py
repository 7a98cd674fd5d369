"""The core was awake and did not enter the softirq: interrupts or softirqs were off."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="softirqs-off",
    title="interrupts or softirqs were off",
    why="The core was awake and told of packets, and entered the softirq only later: the thread "
    "that ran had switched interrupts or softirqs off.",
    evidence=Evidence.EVENT,
    remedies=(
        "R24",
        "K04",
    ),
    ask="what that thread does in the kernel",
)
