"""A non-maskable interrupt (a watchdog, a profiler) ran on the core."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="nmi",
    title="a non-maskable interrupt",
    why="A non-maskable interrupt (a watchdog, a profiler) ran on the core.",
    evidence=Evidence.EVENT,
    remedies=("K20",),
    counter="interrupts:NMI",
)
