"""The processor, its firmware and the hypervisor: below the kernel. Brown."""

from taut.explain.cause import Away, Cause, Evidence

IDLE_EXIT = Cause(
    id="idle-exit",
    title="waking from idle",
    why="The core slept, and the thread had to wait until it was awake again.",
    noun="sleep: waking from idle",
    did="slept and took {time} to wake",
    evidence=Evidence.EVENT,
    seen_by="task switches to idle, the thread's wake-up",
    away=Away.HALTED,
    colour=("#857217", "#d3c04f"),
    remedies=("K15", "R19", "R18", "G05", "V06"),
)

MACHINE_CHECK = Cause(
    id="machine-check",
    title="a machine check",
    why="The processor reported an error of the hardware.",
    evidence=Evidence.EVENT,
    seen_by="a mark without duration inside an otherwise empty gap",
    vectors=("threshold", "deferred_error", "error"),
    counter="interrupts:MCE",
    colour=("#3d2a14", "#8f7350"),
    remedies=("K18", "R20", "HW08"),
)

SMI = Cause(
    id="smi",
    title="a system management interrupt",
    why="The firmware took the core; the kernel cannot see it.",
    noun="the firmware (a system management interrupt)",
    evidence=Evidence.EXCLUSION,
    seen_by="an empty gap, and its counter or another core's empty gap at the same time",
    counter="smi",
    colour=("#54402c", "#a07a50"),
    remedies=("HW04", "HW05", "HW07", "HW08"),
)

HYPERVISOR_OR_HARDWARE = Cause(
    id="hypervisor-or-hardware",
    title="hypervisor or hardware",
    why="The thread did not run and the kernel did nothing: the hypervisor, the firmware or the "
    "hardware had the core, and from inside one cannot tell which.",
    noun="the hypervisor or hardware",
    evidence=Evidence.EXCLUSION,
    seen_by="an empty gap, and nothing that tells whose",
    counter="steal_jiffies",
    colour=("#7a5a3c", "#c69a6d"),
    remedies=("G01", "G02", "V01", "V11", "V03", "G08", "HW04"),
    not_made="vcpu-hog needs the host of a KVM guest",
)

FREQUENCY = Cause(
    id="frequency",
    title="a change of frequency",
    why="The core's frequency changed, which stops it for a moment or makes it slower.",
    evidence=Evidence.EXCLUSION,
    seen_by="a mark without duration inside an otherwise empty gap, or right behind it",
    vectors=("thermal",),
    colour=("#977653", "#d9bf9f"),
    remedies=("K16", "R16", "R17", "HW09", "HW13"),
)
