"""What another core had this one do, by an interrupt it sent. Violet to pink."""

from taut.explain.cause import Cause, Evidence, Injector

TLB_SHOOTDOWN = Cause(
    id="tlb-shootdown",
    title="a TLB shootdown",
    why="Another thread of the process unmapped or reprotected memory, and every core that runs "
    "the process was interrupted to forget the mapping.",
    evidence=Evidence.EVENT,
    seen_by="the interrupt, the function it ran or the flush inside it, its sender",
    calls=("flush_tlb_func", "do_flush_tlb_all", "do_kernel_range_flush"),
    has_sender=True,
    counter="interrupts:TLB",
    colour=("#7a4fc4", "#a487ec"),
    remedies=("A05", "HW15", "R13", "K23", "R12"),
    made=Injector("tlb-shootdown"),
)

MEMBARRIER = Cause(
    id="membarrier",
    title="a membarrier",
    why="Another thread of the process called membarrier(2), which interrupts every core that "
    "runs the process.",
    evidence=Evidence.EVENT,
    seen_by="the interrupt, the function it ran, its sender",
    calls=("ipi_mb", "ipi_sync_core", "ipi_rseq", "ipi_sync_rq_state"),
    has_sender=True,
    colour=("#a63fb0", "#d982e2"),
    remedies=("A06",),
    made=Injector("membarrier"),
)

FUNCTION_CALL = Cause(
    id="function-call",
    title="a function called from another core",
    why="Another core had the kernel run a function on this one.",
    evidence=Evidence.EVENT,
    seen_by="the interrupt, the function it ran, its sender",
    vectors=("call_function", "call_function_single"),
    has_sender=True,
    counter="interrupts:CAL",
    colour=("#c9458c", "#e873b0"),
    remedies=("R28", "K11", "K13"),
    made=Injector("function-call"),
)

RESCHEDULE = Cause(
    id="reschedule",
    title="a reschedule interrupt",
    why="Another core told this one to look at its run queue.",
    evidence=Evidence.EVENT,
    seen_by="the interrupt, its sender",
    vectors=("reschedule",),
    has_sender=True,
    counter="interrupts:RES",
    colour=("#9277cf", "#c9b6f7"),
    remedies=("R28", "R24", "K04"),
    made=Injector("reschedule"),
)
