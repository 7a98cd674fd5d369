"""R22: kernel threads that may run on poll cores."""

from collections.abc import Sequence

from taut.core.cpus import format_cpu_list
from taut.host.boot.item import KernelParameter
from taut.host.check import (
    Check,
    Finding,
    Remedy,
    Severity,
    not_applicable,
    unknown,
)
from taut.host.checks.runtime._cores import verdict
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.thread_affinity import ThreadAffinity
from taut.host.shapes import POLLING
from taut.host.situation import Situation
from taut.host.threads import Thread, all_threads, some

_NOHZ_FULL = "/sys/devices/system/cpu/nohz_full"
_WANTED = "kernel threads that can be moved run on housekeeping cores only"


class KernelThreads(Check):
    """Threads that are bound to their core (ksoftirqd/2) are as they should be."""

    id = "R22"
    title = "kernel threads"
    fault = "Kernel threads may run on poll cores"
    severity = Severity.MAJOR
    why = (
        "rcuo*, kswapd, kcompactd, khugepaged, kdamond and others take the core for 10 µs to "
        "milliseconds each time they run"
    )
    source = "admin-guide/kernel-per-CPU-kthreads.rst; admin-guide/cpu-isolation.rst"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Compare the cores each may run on with the poll cores."""
        if situation.role not in POLLING:
            return not_applicable(f"not asked of a {situation.role}")
        kernel = [thread for thread in all_threads(host) if thread.is_kernel]
        if not kernel:
            return unknown("no kernel thread is visible", "run outside of any container", _WANTED)
        movable = [thread for thread in kernel if _is_movable(thread, situation)]
        bad = {core for thread in movable for core in thread.allowed}
        there = [str(thread) for thread in movable if _is_there(thread, situation)]
        where = format_cpu_list(situation.cores) if situation.cores else "all cores alike"
        if there:
            observed = f"{len(there)} may run on {where}: {some(there)}"
        else:
            observed = f"none of {len(movable)} may run on {where}"
        observed += f"; {len(kernel) - len(movable)} are bound or follow an interrupt"
        return verdict(bad, situation, observed, _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Move them to housekeeping cores."""
        if not situation.cores or not situation.housekeeping:
            return ()
        found = [
            thread
            for thread in all_threads(host)
            if thread.is_kernel and _is_movable(thread, situation) and _is_there(thread, situation)
        ]
        boot = Remedy(
            "R22-boot",
            "at boot: start kernel threads on housekeeping cores",
            boot=(KernelParameter("nohz_full", cores=situation.cores),),
            cost="system calls and interrupts on these cores cost more (context tracking)",
        )
        # A kernel built without it would ignore the parameter; a core that sleeps needs it not.
        at_boot = (boot,) if situation.polls and host.is_there(_NOHZ_FULL) else ()
        if not found:
            return at_boot
        now = Remedy(
            "R22-now",
            f"move {len(found)} kernel threads off cores {format_cpu_list(situation.cores)}",
            changes=[_moved(thread, situation) for thread in found],
            # Those the kernel starts later are not moved: isolation keeps them out (K04).
            cost="reclaim and other kernel threads share fewer cores",
        )
        return (now, *at_boot)


def _is_movable(thread: Thread, situation: Situation) -> bool:
    # The thread of an interrupt goes where its interrupt goes, each time it fires (R02). Threads
    # that receive packets are the device where one sleeps (threaded NAPI, networking/napi.rst).
    kept = ("irq/", "napi/") if situation.sleeps else ("irq/",)
    return not thread.is_bound and not thread.comm.startswith(kept)


def _is_there(thread: Thread, situation: Situation) -> bool:
    if not situation.cores:
        return set(thread.allowed) >= set(situation.online)
    return not set(thread.allowed).isdisjoint(situation.cores)


def _moved(thread: Thread, situation: Situation) -> Change:
    left = [core for core in thread.allowed if core in situation.housekeeping]
    wanted = format_cpu_list(left or situation.housekeeping)
    return Change(ThreadAffinity(thread.tid, thread.comm, thread.start_ticks), wanted)


CHECK = KernelThreads()
