"""A worker of the kernel ran a queued function on the core."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="workqueue",
    title="a kernel worker ran",
    why="A worker of the kernel ran a queued function on the core.",
    evidence=Evidence.EVENT,
    remedies=(
        "R08",
        "R07",
        "R22",
        "R06",
    ),
    counter="threads:nonvoluntary",
)
