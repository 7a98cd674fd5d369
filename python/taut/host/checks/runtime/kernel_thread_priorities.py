"""R23: priorities of per-core kernel threads under PREEMPT_RT."""

from collections.abc import Sequence

from taut.host.boot.item import KernelParameter
from taut.host.check import (
    Check,
    Finding,
    Remedy,
    Severity,
    failed,
    not_applicable,
    passed,
    unknown,
)
from taut.host.checks.runtime._cores import cores_of_list
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.thread_scheduler import POLICIES, ThreadScheduler
from taut.host.situation import Role, Situation
from taut.host.threads import Thread, all_threads, some

# tuned's realtime-virtual-host; OpenShift's profiles take 11 for all three.
_LEAST = {"rcuc": 4, "ktimers": 2, "ksoftirqd": 2}
_REAL_TIME = (POLICIES["fifo"], POLICIES["rr"])
_WANTED = "rcuc at real-time priority 4 or more, ktimers and ksoftirqd at 2 or more"


class KernelThreadPriorities(Check):
    """Without PREEMPT_RT this work is done in softirq context, which no thread can starve."""

    id = "R23"
    title = "kernel thread priorities"
    fault = "Kernel threads have too low a priority"
    severity = Severity.CRITICAL
    why = (
        "on a PREEMPT_RT kernel a polling SCHED_FIFO thread starves kernel threads of a lower "
        "priority on its core: RCU stalls and timers that never fire stop the whole machine"
    )
    source = "tuned realtime-virtual-host; OpenShift node tuning operator"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Compare each with the least that is wanted."""
        if situation.role not in (Role.KVM_HOST, Role.KVM_GUEST):
            return not_applicable(f"not asked of a {situation.role}")
        if not situation.machine.is_realtime:
            return not_applicable("the kernel is not PREEMPT_RT")
        judged = _judged(host, situation)
        if not judged:
            return unknown(
                "no ksoftirqd, ktimers or rcuc thread is visible",
                "run outside of any container",
                _WANTED,
            )
        low = [f"{thread.comm} at {thread.priority}" for thread in judged if not _is_enough(thread)]
        if low:
            return failed(f"{len(low)} of {len(judged)}: {some(low)}", _WANTED, situation.cores)
        return passed(f"{len(judged)} threads have them", _WANTED, situation.cores)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Raise those that are too low."""
        changes = [
            Change(
                ThreadScheduler(thread.tid, thread.comm, thread.start_ticks),
                f"fifo {_LEAST[_kind(thread)]}",
            )
            for thread in _judged(host, situation)
            if not _is_enough(thread)
        ]
        boot = Remedy(
            "R23-boot",
            "at boot: RCU's threads at priority 11",
            boot=(KernelParameter("rcutree.kthread_prio", "11"),),
        )
        if not changes:
            return (boot,)
        now = Remedy(
            "R23-now",
            f"raise the priority of {len(changes)} kernel threads",
            changes=changes,
            risk="a polling thread still starves them at a higher priority than theirs",
        )
        return now, boot


def _judged(host: Host, situation: Situation) -> list[Thread]:
    """Threads of these three kinds, on the poll cores if they are named."""
    found = []
    for thread in all_threads(host):
        core = cores_of_list(thread.comm.partition("/")[2])
        is_ours = core is not None and (not situation.cores or set(core) <= set(situation.cores))
        if thread.is_kernel and _kind(thread) in _LEAST and is_ours:
            found.append(thread)
    return found


def _kind(thread: Thread) -> str:
    return thread.comm.partition("/")[0]


def _is_enough(thread: Thread) -> bool:
    return thread.policy in _REAL_TIME and thread.priority >= _LEAST[_kind(thread)]


CHECK = KernelThreadPriorities()
