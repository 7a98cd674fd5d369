"""The kernel's network thread (ksoftirqd, or a NAPI thread) waited for the core."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="ksoftirqd-wait",
    title="ksoftirqd waited for the core",
    why="Packets were left to a thread of the kernel (ksoftirqd, or a NAPI thread), which had to "
    "wait while another thread ran on the core.",
    evidence=Evidence.EVENT,
    remedies=(
        "R24",
        "R22",
        "R23",
        "K04",
    ),
)
