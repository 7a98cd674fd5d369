"""The core slept, and the thread had to wait until it was awake again."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="idle-exit",
    title="waking from idle",
    why="The core slept, and the thread had to wait until it was awake again.",
    evidence=Evidence.EVENT,
    remedies=(
        "K15",
        "R19",
        "R18",
        "G05",
        "V06",
    ),
)
