"""A network card, disk or other device interrupted the core, and its handler ran there."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="device-irq",
    title="a device's interrupt",
    why="A network card, disk or other device interrupted the core, and its handler ran there.",
    evidence=Evidence.EVENT,
    remedies=(
        "R02",
        "R01",
        "R03",
        "K12",
        "K05",
    ),
    counter="interrupts:devices",
)
