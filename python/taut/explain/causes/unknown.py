"""Nothing that was recorded explains it."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="unknown",
    title="unknown",
    why="Nothing that was recorded explains it.",
    evidence=Evidence.EXCLUSION,
    ask="what the line names as missing",
)
