"""The kernel's trace buffer overflowed at that time."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="trace-lost",
    title="events were lost",
    why="The kernel's trace buffer overflowed at that time; what happened is not known.",
    evidence=Evidence.EXCLUSION,
    ask="a larger trace buffer, or fewer events",
)
