"""The scheduler: another thread ran, or the polling one might not. Orange to red."""

from taut.explain.cause import Away, Cause, Evidence, Injector

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
    remedies=("R24", "K04", "R22", "R09"),
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
    why="The thread's control group had used up its quota of the processor, and the thread had to "
    "wait for the next period.",
    noun="throttling",
    did="stood still for {time}, its thread throttled",
    evidence=Evidence.EVENT,
    seen_by="task switches, the state the thread left in; its control group's time",
    away=Away.HALTED,
    counter="cgroups:throttled_us",
    colour=("#9a5a14", "#e0a565"),
    remedies=("A09",),
    made=Injector("throttled", per_s=40),
)
