"""The thread touched memory that was not mapped, and the kernel mapped it."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="page-fault",
    title="a page fault",
    why="The thread touched memory that was not mapped, and the kernel mapped it.",
    evidence=Evidence.EVENT,
    remedies=(
        "A01",
        "A07",
        "K22",
        "R15",
    ),
    counter="threads:minflt",
)
