"""Waiting in a queue."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="queueing",
    title="waiting in a queue",
    why="The device was busy with packets before this one: the load is too high, or they "
    "came in a burst.",
    evidence=Evidence.PACKETS,
    ask="the offered load, bursts, and how many packets the device handles a second",
)
