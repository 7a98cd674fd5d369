"""R28: who interrupts the poll cores from another core."""

import re
from collections import Counter
from collections.abc import Sequence

from taut.core.cpus import CpuSet, format_cpu_list
from taut.host.check import (
    Check,
    Finding,
    Remedy,
    Severity,
    failed,
    not_applicable,
    passed,
)
from taut.host.checks._tracing import most_common, unseen
from taut.host.checks.runtime._cores import cores_of_mask
from taut.host.host import Host
from taut.host.shapes import POLLING
from taut.host.situation import Situation, TraceEvent

_WANTED = "no interrupt from another core"
_ONE = re.compile(r"cpu=(\d+)")
_SOME = re.compile(r"cpumask=([0-9a-f,]+)")
_FROM = re.compile(r"callsite=([^+\s]+)")


class CoreInterrupts(Check):
    """Agents that read a register or a counter of each core (turbostat, rdmsr) show up here."""

    id = "R28"
    title = "interrupts from other cores"
    fault = "Other cores interrupt the poll cores"
    severity = Severity.MAJOR
    why = (
        "reading a core's MSR, frequency or cache monitor from elsewhere interrupts it: 1 to 3 µs "
        "on bare metal, ten times that in a guest"
    )
    source = "Linux 6.4 (ipi:ipi_send_cpu); measured by taut's authors"
    traces = ("ipi/ipi_send_cpu", "ipi/ipi_send_cpumask")

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Count by sender and by what it called."""
        if situation.role not in POLLING:
            return not_applicable(f"not asked of a {situation.role}")
        cannot = unseen(host, situation, tuple(self.traces), "Linux 6.4 or newer")
        if cannot is not None:
            return cannot
        count = _senders(situation)
        cores = format_cpu_list(situation.cores or situation.online)
        if not count:
            return passed(f"none to {cores} while traced", _WANTED, situation.cores)
        observed = f"{count.total()} or more to {cores}: {most_common(count)}"
        return failed(observed, _WANTED, situation.cores)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Name who to look at."""
        senders = _senders(situation)
        if not senders:
            return ()
        return (
            Remedy(
                "R28-by-hand",
                "stop who interrupts the poll cores, or keep it from looking at them",
                by_hand=f"end, or limit to housekeeping cores: {most_common(senders)}",
                cost="the figures such an agent collects",
            ),
        )


def _senders(situation: Situation) -> Counter[str]:
    poll = set(situation.cores or situation.online)
    count: Counter[str] = Counter()
    for event in situation.events or ():
        if not poll.isdisjoint(_targets(event)):
            match = _FROM.search(event.fields)
            count[f"{event.comm} by {match[1] if match else 'an unknown call'}"] += 1
    return count


def _targets(event: TraceEvent) -> CpuSet:
    """Cores it is sent to."""
    if event.name == "ipi_send_cpu":
        match = _ONE.search(event.fields)
        return (int(match[1]),) if match else ()
    if event.name != "ipi_send_cpumask":
        return ()
    match = _SOME.search(event.fields)
    return (cores_of_mask(match[1]) or ()) if match else ()


CHECK = CoreInterrupts()
