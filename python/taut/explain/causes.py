"""The table of causes, first those that events show: a new cause is a row here, and nothing else.

cause.py says what the fields mean. Code names a cause by its row (`causes.TIMER`), so that a
type checker finds one without a row; documents name it by its id.
"""

from collections.abc import Mapping

from taut.explain.cause import Away, Cause, Evidence, Injector

DEVICE_IRQ = Cause(
    id="device-irq",
    title="a device's interrupt",
    why="A network card, disk or other device interrupted the core, and its handler ran there.",
    evidence=Evidence.EVENT,
    seen_by="entry and exit of its handler",
    vectors=("spurious", "platform"),
    counter="interrupts:devices",
    colour=("#0b4f9e", "#8fc0ff"),
    remedies=("R02", "R01", "R03", "K12", "K05"),
)

TIMER = Cause(
    id="timer",
    title="a timer interrupt",
    why="The tick or a high-resolution timer of that core expired, and its handler ran there.",
    evidence=Evidence.EVENT,
    seen_by="entry and exit of its handler; the timer's function",
    vectors=("local_timer",),
    counter="interrupts:LOC",
    colour=("#2a78d6", "#4f97ee"),
    remedies=("K06", "R29", "A08", "R11", "K07", "K20"),
    made=Injector("timer", mark="timerfd_tmrproc"),
)

SOFTIRQ = Cause(
    id="softirq",
    title="a softirq",
    why="The kernel did deferred work of interrupts (network, timers, RCU, the scheduler) on the "
    "core.",
    evidence=Evidence.EVENT,
    seen_by="entry and exit of the softirq",
    counter="softirqs:any",
    colour=("#2f8fb8", "#5cc6ee"),
    remedies=("R04", "R03", "K08", "R11"),
    made=Injector("softirq", mark="NET_RX"),
)

KSOFTIRQD_WAIT = Cause(
    id="ksoftirqd-wait",
    title="ksoftirqd waited for the core",
    why="Packets were left to a thread of the kernel (ksoftirqd, or a NAPI thread), which had to "
    "wait while another thread ran on the core.",
    noun="a thread that let ksoftirqd wait",
    did="let ksoftirqd wait for {time}{who}",
    evidence=Evidence.EVENT,
    seen_by="of a kernel device: wake-ups and task switches",
    colour=("#b8620a", "#f09a3e"),
    remedies=("R24", "R22", "R23", "K04"),
)

SOFTIRQS_OFF = Cause(
    id="softirqs-off",
    title="interrupts or softirqs were off",
    why="The core was awake and told of packets, and entered the softirq only later: the thread "
    "that ran had switched interrupts or softirqs off.",
    noun="a thread that kept softirqs off",
    did="kept softirqs off for {time}{who}",
    evidence=Evidence.EVENT,
    seen_by="of a kernel device: the softirq raised and not entered",
    colour=("#1f6a73", "#74d3dc"),
    remedies=("R24", "K04"),
    ask="what that thread does in the kernel",
)

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

IRQ_WORK = Cause(
    id="irq-work",
    title="interrupt work",
    why="The kernel interrupted its own core to finish something it could not do where it was.",
    evidence=Evidence.EVENT,
    seen_by="the interrupt",
    vectors=("irq_work",),
    counter="interrupts:IWI",
    colour=("#6585ba", "#a9c1e8"),
    remedies=("R28", "K25"),
)

PREEMPTION = Cause(
    id="preemption",
    title="another thread ran",
    why="The scheduler gave the core to another thread of ordinary priority.",
    noun="another thread",
    evidence=Evidence.EVENT,
    seen_by="task switches",
    away=Away.OTHER,
    counter="threads:nonvoluntary",
    colour=("#d9541e", "#f0763f"),
    remedies=("R24", "K04", "R22"),
    made=Injector("preemption"),
)

FIFO_PREEMPTION = Cause(
    id="fifo-preemption",
    title="a real-time thread ran",
    why="The scheduler gave the core to a thread of real-time priority, which runs before the "
    "polling one.",
    noun="a real-time thread",
    evidence=Evidence.EVENT,
    seen_by="task switches",
    away=Away.OTHER,
    counter="threads:nonvoluntary",
    colour=("#c42b2b", "#ff5d55"),
    remedies=("R23", "R24", "K20"),
    made=Injector("fifo-preemption"),
)

STOPPED = Cause(
    id="stopped",
    title="the thread was stopped",
    why="A signal (SIGSTOP, a debugger) stopped the thread until it was continued.",
    noun="a signal that stopped the thread",
    did="stood still for {time}, its thread stopped by a signal",
    evidence=Evidence.EVENT,
    seen_by="task switches, the state the thread left in, its wake-up",
    away=Away.HALTED,
    counter="threads:voluntary",
    colour=("#7d1f1f", "#ff9d8a"),
    ask="who sends SIGSTOP, or attaches a debugger, to this process",
    made=Injector("stopped", options="length=5ms", per_s=50),
)

THROTTLED = Cause(
    id="throttled",
    title="the thread was throttled",
    why="The thread had used up its quota of the processor (a control group's, or of real-time "
    "threads) and had to wait for the next period.",
    noun="throttling",
    did="stood still for {time}, its thread throttled",
    evidence=Evidence.EVENT,
    seen_by="task switches, the state the thread left in; its control group's time",
    away=Away.HALTED,
    counter="cgroups:throttled_us",
    colour=("#9a5a14", "#e0a565"),
    remedies=("A09", "R09", "R10"),
    made=Injector("throttled", per_s=40),
)

WORKQUEUE = Cause(
    id="workqueue",
    title="a kernel worker ran",
    why="A worker of the kernel ran a queued function on the core.",
    noun="a kernel worker",
    evidence=Evidence.EVENT,
    seen_by="task switches; the worker's function",
    threads=("kworker",),
    away=Away.OTHER,
    counter="threads:nonvoluntary",
    colour=("#b57900", "#d9a021"),
    remedies=("R08", "R07", "R22", "R06"),
)

PAGE_FAULT = Cause(
    id="page-fault",
    title="a page fault",
    why="The thread touched memory that was not mapped, and the kernel mapped it.",
    evidence=Evidence.EVENT,
    seen_by="the fault, of watched threads",
    away=Away.OWN,
    counter="threads:minflt",
    colour=("#14926a", "#2fb98c"),
    remedies=("A01", "A07", "K22", "R15"),
    made=Injector("page-fault"),
)

SYSCALL = Cause(
    id="syscall",
    title="a system call",
    why="The thread itself called the kernel, and perhaps slept there.",
    evidence=Evidence.EVENT,
    seen_by="entry and exit of the call, of watched threads",
    away=Away.OWN,
    colour=("#4f7a00", "#a3c93a"),
    remedies=("A04",),
    made=Injector("syscall"),
)

NMI = Cause(
    id="nmi",
    title="a non-maskable interrupt",
    why="A non-maskable interrupt (a watchdog, a profiler) ran on the core.",
    evidence=Evidence.EVENT,
    seen_by="its handler and how long that took",
    counter="interrupts:NMI",
    colour=("#1c2f6b", "#6f86e0"),
    remedies=("K20",),
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
    seen_by="a mark without duration inside an otherwise empty gap",
    vectors=("thermal",),
    colour=("#977653", "#d9bf9f"),
    remedies=("K16", "R16", "R17", "HW09", "HW13"),
)

QUEUEING = Cause(
    id="queueing",
    title="waiting in a queue",
    why="The device was busy with packets before this one: the load is too high, or they came in "
    "a burst.",
    noun="packets before: a queue",
    did="was busy for {time} with packets before",
    evidence=Evidence.PACKETS,
    seen_by="packets and gap logs",
    colour=("#00829b", "#2bb3cd"),
    ask="the offered load, bursts, and how many packets the device handles a second",
    not_made="packet bursts are a schedule of the generator (taut generate --schedule burst)",
)

BATCHING = Cause(
    id="batching",
    title="waiting in a batch",
    why="The device's transmit policy holds packets back until a batch is full or a timer runs "
    "out.",
    noun="the device's own batch",
    evidence=Evidence.PACKETS,
    seen_by="packets and gap logs",
    colour=("#0f5f6e", "#7fd6e6"),
    ask="the transmit policy: eager sends at once",
    not_made="needs a device with a transmit buffer (taut forward --transmit buffered)",
)

MEASURER = Cause(
    id="measurer",
    title="the measurer itself",
    why="The generator's own core was held up: the packet says nothing about the device.",
    evidence=Evidence.PACKETS,
    seen_by="packets and gap logs",
    colour=("#3a4252", "#d5d9e2"),
    remedies=("K04", "R24", "R02"),
    ask="the generator's core",
    made=Injector("measurer-stall", options="length=1ms", per_s=50),
)

TRACE_LOST = Cause(
    id="trace-lost",
    title="events were lost",
    why="The kernel's trace buffer overflowed at that time; what happened is not known.",
    noun="not known: events were lost",
    did="did not poll for {time}, and the events of that time were lost",
    evidence=Evidence.EXCLUSION,
    seen_by="the trace's own word that events of that time are missing",
    colour=("#d6336c", "#ff8fb3"),
    ask="a larger trace buffer, or fewer events",
    not_made="needs a trace buffer that is too small (taut-trace --buffer)",
)

UNKNOWN = Cause(
    id="unknown",
    title="unknown",
    why="Nothing that was recorded explains it.",
    noun="not known",
    did="did not poll for {time}, and nothing recorded says why",
    evidence=Evidence.EXCLUSION,
    seen_by="no event, no packet and no log that says why",
    colour=("#80868f", "#8f96a3"),
    ask="what the line names as missing",
    not_made="is what is left",
)

CAUSES: tuple[Cause, ...] = tuple(row for row in vars().values() if isinstance(row, Cause))
"""Every row, as they stand above."""

BY_ID: Mapping[str, Cause] = {cause.id: cause for cause in CAUSES}

NUMBER: Mapping[Cause, int] = {cause: number for number, cause in enumerate(CAUSES)}
"""The position in CAUSES, as arrays hold a cause."""

OF_VECTOR: Mapping[str, Cause] = {name: cause for cause in CAUSES for name in cause.vectors}
OF_INJECTOR: Mapping[str, Cause] = {cause.made.name: cause for cause in CAUSES if cause.made}
OF_CALL: Mapping[str, Cause] = {name: cause for cause in CAUSES for name in cause.calls}


def title_of(cause: str) -> str:
    """Name a cause in words; what is no row here, as of another taut, stays as it is."""
    return BY_ID[cause].title if cause in BY_ID else cause
