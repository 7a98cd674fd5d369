"""The kernel interrupted its own core to finish something it could not do where it was."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="irq-work",
    title="interrupt work",
    why="The kernel interrupted its own core to finish something it could not do where it was.",
    evidence=Evidence.EVENT,
    remedies=(
        "R28",
        "K25",
    ),
    counter="interrupts:IWI",
)
