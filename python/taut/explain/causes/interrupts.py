"""Interrupts of the core itself, and what the kernel does at their end. Blue."""

from taut.explain.cause import Cause, Evidence, Injector

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
