"""Names for the numbers of a trace, and the cause that a running thread stands for."""

from dataclasses import dataclass
from functools import cache

from taut.explain import causes
from taut.explain.cause import Cause
from taut.explain.causes import CAUSES
from taut.explain.read.events import TraceNotes
from taut.records.layout import EVENT_VECTORS, SentBy

# include/linux/interrupt.h: the order is part of the kernel's interface to tracing.
SOFTIRQS = (
    "HI",
    "TIMER",
    "NET_TX",
    "NET_RX",
    "BLOCK",
    "IRQ_POLL",
    "TASKLET",
    "SCHED",
    "HRTIMER",
    "RCU",
)

_NO_THREADS = {
    0: "idle",
    SentBy.INTERRUPT.value: "an interrupt",
    SentBy.SOFTIRQ.value: "a softirq",
}

REAL_TIME = 100
"""Priorities below it, as the kernel counts them, are of real-time threads."""


@dataclass(frozen=True)
class Names:
    """Words for the numbers of one trace."""

    notes: TraceNotes

    def thread(self, tid: int) -> str:
        """Name a thread: `"telemetry"/4711`; `thread 4711` where its name is not known.

        Of a sending: `an interrupt` or `a softirq` where it was not that of the thread below it.
        """
        if tid in _NO_THREADS:
            return _NO_THREADS[tid]
        name = self.notes.threads.get(tid)
        return f'"{name}"/{tid}' if name else f"thread {tid}"

    def comm(self, tid: int) -> str:
        """Give a thread's name alone, empty where it is not known."""
        return self.notes.threads.get(tid, "")

    def function(self, address: int) -> str:
        """Name a function, without offset and module; its address where it has no name."""
        name = self.notes.functions.get(address)
        if name is None:
            return f"{address:#x}" if address else ""
        return name.split("+")[0].split(" ")[0]

    def irq(self, number: int) -> str:
        """Name a device's interrupt: `irq 24 eth0-rx-1`; `irq 24` where its name is not known."""
        name = self.notes.irqs.get(number)
        return f"irq {number} {name}" if name else f"irq {number}"


def vector_name(number: int) -> str:
    """Name an interrupt of the processor itself by its number in EVENT_VECTORS."""
    return EVENT_VECTORS[number] if number < len(EVENT_VECTORS) else f"vector {number}"


def softirq_name(number: int) -> str:
    """Name a softirq by the kernel's number for it (3: NET_RX); without a name, the number."""
    return SOFTIRQS[number] if number < len(SOFTIRQS) else str(number)


@cache  # asked at every switch, of the same few threads
def running_cause(comm: str, priority: int) -> Cause:
    """Give the cause to blame when this thread runs instead of the polling one."""
    # A number that was another thread's before has the names of both.
    names = comm.split(" or ")
    for cause in CAUSES:
        if all(name.startswith(cause.threads) for name in names):
            return cause
    return causes.FIFO_PREEMPTION if priority < REAL_TIME else causes.PREEMPTION
