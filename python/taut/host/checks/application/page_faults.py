"""A01: page faults of polling threads, and whether their memory is locked."""

from collections.abc import Sequence

from taut.host.check import Check, Finding, Remedy, Severity, failed, passed, unknown
from taut.host.checks.application._pollers import (
    NOT_HOST,
    NOT_WATCHED,
    both,
    no_poller,
    polling_threads,
)
from taut.host.host import Host
from taut.host.situation import Situation
from taut.host.threads import some

_WANTED = "no page fault once it runs"


class PageFaults(Check):
    """Memory that is not locked is a failure of its own where the machine swaps."""

    id = "A01"
    title = "page faults"
    fault = "Polling programs fault on memory"
    severity = Severity.CRITICAL
    why = (
        "a first touch costs 1 to 3 µs, a page that comes back from a disk milliseconds; locked "
        "and pre-faulted memory has neither"
    )
    source = "admin-guide/cpu-isolation.rst; rigtorp.se low latency guide; measured by taut"
    watches = ("/proc/{pid}/task/*/stat",)

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Compare fields 10 and 12 of stat (proc(5))."""
        found = no_poller(host, situation, NOT_HOST)
        if found is not None:
            return found
        locked = "; ".join(_locked(host, pid) for pid in situation.processes)
        faulted, judged = [], 0
        for thread in polling_threads(host, situation):
            pair = both(situation, thread, "stat")
            counts = None if pair is None else [_faults(text) for text in pair]
            if counts is None or counts[0] is None or counts[1] is None:
                continue
            judged += 1
            minor, major = (after - before for before, after in zip(*counts, strict=True))
            if minor or major:
                faulted.append(f"{thread}: {minor} minor, {major} major")
        if faulted:
            return failed(f"{some(faulted)}; {locked}", _WANTED, situation.cores)
        if _swaps(host) and "nothing is locked" in locked:
            return failed(f"{locked}, and the machine swaps", _WANTED, situation.cores)
        if not judged:
            return unknown(f"faults not watched; {locked}", NOT_WATCHED, _WANTED)
        seconds = situation.watched.seconds
        return passed(f"none of {judged} threads in {seconds:.0f} s; {locked}", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """In the program."""
        return (
            Remedy(
                "A01-by-hand",
                "lock and touch all memory before the first packet",
                by_hand="in the program: mlockall(MCL_CURRENT | MCL_FUTURE), no allocation in the "
                "loop; tables in huge pages; `ulimit -l unlimited`",
                cost="memory",
            ),
        )


def _faults(stat: str) -> tuple[int, int] | None:
    fields = stat.rpartition(")")[2].split()
    try:
        return int(fields[7]), int(fields[9])
    except (ValueError, IndexError):
        return None


def _locked(host: Host, pid: int) -> str:
    kilobytes = (host.fields(f"/proc/{pid}/status").get("VmLck") or "?").split()[0]
    shown = "nothing is locked" if kilobytes == "0" else f"{kilobytes} kB locked"
    return f"process {pid}: {shown}"


def _swaps(host: Host) -> bool:
    """The first line is a header."""
    return len((host.read("/proc/swaps") or "").splitlines()) > 1


CHECK = PageFaults()
