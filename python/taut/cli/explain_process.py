"""Explain a process that polls and keeps no log of its gaps: another DPDK program, by its PID."""

from taut.core.cpus import CpuSet
from taut.experiment.interrupt import interruptible
from taut.explain.tell.result import Explanation
from taut.explain.window import explain_window, threads_on
from taut.host.host import Host


def explain_process(pid: int, cores: CpuSet | None, duration_ns: int) -> list[Explanation]:
    """Trace the process for a while; give one explanation for each core it polls on."""
    threads = threads_on(Host(), pid, cores)
    with interruptible():
        return explain_window(threads, duration_ns)
