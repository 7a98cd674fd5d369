"""The measurer itself."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="measurer",
    title="the measurer itself",
    why="The generator's own core was held up: the packet says nothing about the device.",
    evidence=Evidence.PACKETS,
    remedies=(
        "K04",
        "R24",
        "R02",
    ),
    ask="the generator's core",
)
