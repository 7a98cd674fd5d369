"""Hypervisor or hardware."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="hypervisor-or-hardware",
    title="hypervisor or hardware",
    why="The thread did not run and the kernel did nothing: the hypervisor, the firmware or"
    " the hardware had the core, and from inside one cannot tell which.",
    evidence=Evidence.EXCLUSION,
    remedies=(
        "G01",
        "G02",
        "V01",
        "V11",
        "V03",
        "G08",
        "HW04",
    ),
    counter="steal_jiffies",
)
