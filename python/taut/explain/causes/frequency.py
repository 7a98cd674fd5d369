"""The core's frequency changed, which stops it for a moment or makes it slower."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="frequency",
    title="a change of frequency",
    why="The core's frequency changed, which stops it for a moment or makes it slower.",
    evidence=Evidence.EXCLUSION,
    remedies=(
        "K16",
        "R16",
        "R17",
        "HW09",
        "HW13",
    ),
)
