"""How numbers of the trace are called, and which cause a name belongs to."""

from dataclasses import dataclass

from taut.explain.read.events import TraceNotes
from taut.records.layout import EVENT_VECTORS

# What a function-call interrupt runs, as kernel/smp.c's callers name it (6.1 to 6.18).
CALL_CAUSES = {
    "flush_tlb_func": "tlb-shootdown",
    "do_flush_tlb_all": "tlb-shootdown",
    "do_kernel_range_flush": "tlb-shootdown",
    "ipi_mb": "membarrier",
    "ipi_sync_core": "membarrier",
    "ipi_rseq": "membarrier",
    "ipi_sync_rq_state": "membarrier",
}

VECTOR_CAUSES = {
    "local_timer": "timer",
    "reschedule": "reschedule",
    "call_function": "function-call",
    "call_function_single": "function-call",
    "irq_work": "irq-work",
    # The processor says that it grew too hot and throttles itself.
    "thermal": "frequency",
    "threshold": "machine-check",
    "deferred_error": "machine-check",
    "error": "machine-check",
    "spurious": "device-irq",
    "platform": "device-irq",
}

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

REAL_TIME = 100
"""Priorities below it, as the kernel counts them, are of real-time threads."""


@dataclass(frozen=True)
class Names:
    """Words for the numbers of one trace."""

    notes: TraceNotes

    def thread(self, tid: int) -> str:
        """A thread as `"telemetry"/4711`."""
        if tid == 0:
            return "idle"
        name = self.notes.threads.get(tid)
        return f'"{name}"/{tid}' if name else f"thread {tid}"

    def comm(self, tid: int) -> str:
        """A thread's name alone, empty when it is not known."""
        return self.notes.threads.get(tid, "")

    def function(self, address: int) -> str:
        """A function without offset and module."""
        name = self.notes.functions.get(address)
        if name is None:
            return f"{address:#x}" if address else ""
        return name.split("+")[0].split(" ")[0]

    def irq(self, number: int) -> str:
        """A device's interrupt."""
        name = self.notes.irqs.get(number)
        return f"irq {number} {name}" if name else f"irq {number}"


def vector_name(number: int) -> str:
    """An interrupt of the processor itself."""
    return EVENT_VECTORS[number] if number < len(EVENT_VECTORS) else f"vector {number}"


def softirq_name(number: int) -> str:
    """A softirq."""
    return SOFTIRQS[number] if number < len(SOFTIRQS) else str(number)


def running_cause(comm: str, priority: int) -> str:
    """What it is called that this thread runs instead of the polling one."""
    if comm.startswith("kworker"):
        return "workqueue"
    return "fifo-preemption" if priority < REAL_TIME else "preemption"
