"""A04: system calls of polling threads."""

import re
from collections import Counter
from collections.abc import Sequence

from taut.host.check import Check, Finding, Remedy, Severity, failed, passed
from taut.host.checks._tracing import most_common, unseen
from taut.host.checks.application._pollers import both, no_poller, polling_threads
from taut.host.host import Host
from taut.host.situation import Situation
from taut.host.threads import Thread, some, status_field

_WANTED = "none in the loop"
_NUMBER = re.compile(r"NR (-?\d+)")


class SystemCalls(Check):
    """Reads and writes show without tracing as well: that proves some, never none."""

    id = "A04"
    title = "system calls"
    fault = "Polling threads make system calls"
    severity = Severity.MINOR
    why = (
        "each costs 0.1 to 1 µs, may restart the tick of a nohz_full core, and may sleep; "
        "mitigations make it dearer"
    )
    source = "admin-guide/cpu-isolation.rst"
    watches = ("/proc/{pid}/task/*/io",)
    traces = ("raw_syscalls/sys_enter",)

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Count them where they were traced; else look for reads and writes."""
        found = no_poller(host, situation)
        if found is not None:
            return found
        pollers = polling_threads(host, situation)
        count = _calls(situation, pollers)
        if count:
            return failed(f"{count.total()} or more: {most_common(count)}", _WANTED)
        moved = [
            f"{thread}: {calls} reads and writes"
            for thread in pollers
            if (calls := _transfers(situation, thread))
        ]
        if moved:
            return failed(some(moved), _WANTED)
        cannot = unseen(host, situation, tuple(self.traces), "with HAVE_SYSCALL_TRACEPOINTS")
        return cannot or passed(f"none by {len(pollers)} threads while traced", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """In the program."""
        return (
            Remedy(
                "A04-by-hand",
                "take system calls out of the loop",
                by_hand="in the program; `perf trace -s -t TID` names them. Log, sleep and read "
                "files in another thread on a housekeeping core",
            ),
        )


def _calls(situation: Situation, pollers: list[Thread]) -> Counter[str]:
    names = {thread.tid: str(thread) for thread in pollers}
    count: Counter[str] = Counter()
    for event in situation.events or ():
        match = _NUMBER.search(event.fields) if event.name == "sys_enter" else None
        if match is not None and event.pid in names:
            count[f"{names[event.pid]}: system call {match[1]}"] += 1
    return count


def _transfers(situation: Situation, thread: Thread) -> int:
    pair = both(situation, thread, "io")
    if pair is None:
        return 0
    before, after = (
        [status_field(text, name) or "" for name in ("syscr", "syscw")] for text in pair
    )
    if not all(number.isdecimal() for number in (*before, *after)):
        return 0
    return sum(map(int, after)) - sum(map(int, before))


CHECK = SystemCalls()
