"""A06: memory barriers that one thread imposes on all others."""

import re
from collections import Counter
from collections.abc import Sequence

from taut.host.check import Check, Finding, Remedy, Severity, failed, passed
from taut.host.checks._tracing import most_common, unseen
from taut.host.checks.application._pollers import no_poller, polled_cores, polling_threads
from taut.host.host import Host
from taut.host.situation import Situation

_WANTED = "none on cores that poll"
# Functions of kernel/sched/membarrier.c that run on the other cores.
_CALLED = re.compile(r"func=(ipi_mb|ipi_sync_core|ipi_rseq|ipi_sync_rq_state)\b")


class Membarrier(Check):
    """What is called on a core by an interrupt names membarrier(2); nothing else does."""

    id = "A06"
    title = "membarrier"
    fault = "membarrier interrupts poll cores"
    severity = Severity.MAJOR
    why = "each membarrier interrupts every core that runs the program: 12 µs in a guest"
    source = "membarrier(2); measured by taut's authors"
    traces = ("csd/csd_function_entry",)

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Count the barriers that reached the cores of polling threads."""
        found = no_poller(host, situation)
        if found is not None:
            return found
        cannot = unseen(host, situation, tuple(self.traces), "Linux 6.5 or newer")
        if cannot is not None:
            return cannot
        cores = polled_cores(polling_threads(host, situation))
        count: Counter[str] = Counter()
        for event in situation.events or ():
            match = _CALLED.search(event.fields) if event.core in cores else None
            if match is not None:
                count[f"core {event.core}: {match[1]}"] += 1
        if count:
            return failed(most_common(count), _WANTED, cores)
        return passed("none while traced", _WANTED, cores)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """In the program."""
        return (
            Remedy(
                "A06-by-hand",
                "keep membarrier out of the polling program",
                by_hand="no JIT, garbage collector or liburcu (its membarrier flavour) in the "
                "process that polls; liburcu: the memb flavour off, or qsbr",
            ),
        )


CHECK = Membarrier()
