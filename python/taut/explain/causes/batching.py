"""Waiting in a batch."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="batching",
    title="waiting in a batch",
    why="The device's transmit policy holds packets back until a batch is full or a timer "
    "runs out.",
    evidence=Evidence.PACKETS,
    ask="the transmit policy: eager sends at once",
)
