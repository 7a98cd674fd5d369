"""K27: interrupts that are handled by threads."""

from collections.abc import Sequence

from taut.host.check import (
    Finding,
    Remedy,
    Severity,
    failed,
    passed,
    unknown,
)
from taut.host.checks.kernel import _command_line
from taut.host.checks.kernel._shape import RoleCheck, by_hand
from taut.host.checks.kernel._threads import kernel_threads
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.thread_scheduler import ThreadScheduler
from taut.host.situation import Situation
from taut.host.threads import Thread

_WANTED = "no threadirqs; on PREEMPT_RT interrupt threads below the program that polls"
_REAL_TIME = (1, 2)  # SCHED_FIFO, SCHED_RR (sched(7))


class InterruptThreads(RoleCheck):
    """PREEMPT_RT has them always: there only their priority can be wrong."""

    id = "K27"
    title = "interrupts are not threads, or weaker ones"
    fault = "Interrupt threads may preempt the poller"
    severity = Severity.MINOR
    why = (
        "a threaded handler adds a context switch to each interrupt, and runs at priority 50: it "
        "preempts a program that polls below that"
    )
    source = "Intel NFV-I (2018), 4.4; kernel-parameters.txt (threadirqs)"

    def judge(self, host: Host, situation: Situation) -> Finding:
        """The parameter, or the priorities."""
        if not situation.machine.is_realtime:
            if host.read(_command_line.PATH) is None:
                return unknown("no command line", f"a readable {_command_line.PATH}", _WANTED)
            if _command_line.find(host, "threadirqs"):
                return failed("threadirqs", _WANTED)
            return passed("no threadirqs", _WANTED)
        threads = _on(host, situation)
        if not threads:
            return passed("PREEMPT_RT, no interrupt thread may run on a poll core", _WANTED)
        polling = _priority(host, situation)
        if polling is None:
            needs = "a program that polls: run the audit while it does"
            return unknown(f"PREEMPT_RT, {len(threads)} interrupt threads", needs, _WANTED)
        strong = [thread for thread in threads if thread.priority >= polling]
        observed = f"the poller has priority {polling}, {len(strong)} interrupt threads as much"
        if not strong:
            return passed(observed, _WANTED)
        return failed(f"{observed}: {strong[0].comm}", _WANTED, situation.cores)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Take the parameter away, or lower the threads."""
        if not situation.machine.is_realtime:
            what = "remove threadirqs from the kernel's command line"
            return (by_hand(self.id, "remove threadirqs", what),)
        polling = _priority(host, situation)
        if polling is None or polling < 2:
            what = "chrt -f 2 or more for the program that polls, below 99"
            return (by_hand(self.id, "raise the program that polls", what),)
        changes = [
            Change(
                ThreadScheduler(thread.pid, thread.comm, thread.start_ticks),
                f"fifo {polling - 1}",
            )
            for thread in _on(host, situation)
            if thread.priority >= polling
        ]
        if not changes:
            return ()
        risk = "the program that polls must leave these threads time on other cores"
        return (Remedy("K27-now", "lower interrupt threads", changes=changes, risk=risk),)


def _on(host: Host, situation: Situation) -> list[Thread]:
    """Interrupt threads that may run on a poll core."""
    cores = set(situation.cores or situation.online)
    return [thread for thread in kernel_threads(host, "irq/") if cores & set(thread.allowed)]


def _priority(host: Host, situation: Situation) -> int | None:
    """Give the highest real-time priority of the programs that poll; 0: they have none."""
    found = []
    for pid in situation.processes:
        for path in host.paths(f"/proc/{pid}/task/*/stat"):
            fields = (host.read(path) or "").rpartition(")")[2].split()
            if len(fields) > 38 and fields[37].isdigit() and fields[38].isdigit():
                found.append(int(fields[37]) if int(fields[38]) in _REAL_TIME else 0)
    return max(found, default=None)


CHECK = InterruptThreads()
