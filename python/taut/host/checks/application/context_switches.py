"""A03: whether polling threads were taken off their core."""

from collections.abc import Sequence

from taut.host.check import Check, Finding, Remedy, Severity, failed, passed, unknown
from taut.host.checks.application._pollers import NOT_WATCHED, both, no_poller, polling_threads
from taut.host.host import Host
from taut.host.situation import Situation
from taut.host.threads import Thread, some, status_field

_WANTED = "no switch, and no wait for the core"


class ContextSwitches(Check):
    """The best counter that needs no right at all: it works in a container too."""

    id = "A03"
    title = "context switches"
    fault = "Polling threads were switched out"
    severity = Severity.CRITICAL
    why = "each involuntary switch hands the core to somebody else, for up to a time slice (4 ms)"
    source = "proc(5); scheduler/sched-stats.rst; measured by taut's authors"
    watches = ("/proc/{pid}/task/*/status", "/proc/{pid}/task/*/schedstat")

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Compare the counters of each thread."""
        found = no_poller(host, situation)
        if found is not None:
            return found
        switched, judged = [], 0
        for thread in polling_threads(host, situation):
            switches, waited_ns = _switches(situation, thread), _waited_ns(situation, thread)
            judged += switches is not None
            if switches or waited_ns:
                shown = "no" if switches is None else str(switches)
                waited = "" if waited_ns is None else f", waited {waited_ns / 1e6:.3f} ms"
                switched.append(f"{thread}: {shown} involuntary switches{waited}")
        if switched:
            return failed(some(switched), _WANTED, situation.cores)
        if not judged:
            return unknown("switches not watched", NOT_WATCHED, _WANTED)
        return passed(f"none of {judged} threads in {situation.watched.seconds:.0f} s", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Somebody else runs there."""
        return (
            Remedy(
                "A03-by-hand",
                "find out who runs on the core",
                by_hand="what R22, R24 and R08 name: move it; isolate the core (K04)",
            ),
        )


def _switches(situation: Situation, thread: Thread) -> int | None:
    pair = both(situation, thread, "status")
    if pair is None:
        return None
    before, after = (status_field(text, "nonvoluntary_ctxt_switches") or "" for text in pair)
    return int(after) - int(before) if before.isdecimal() and after.isdecimal() else None


def _waited_ns(situation: Situation, thread: Thread) -> int | None:
    """Time runnable and not running: the second number of schedstat."""
    pair = both(situation, thread, "schedstat")
    if pair is None:
        return None
    before, after = (text.split() for text in pair)
    try:
        return int(after[1]) - int(before[1])
    except (ValueError, IndexError):
        return None


CHECK = ContextSwitches()
