"""A05: interrupts that make a core forget address translations."""

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
    unknown,
)
from taut.host.checks.application._pollers import (
    NOT_WATCHED,
    no_poller,
    polled_cores,
    polling_threads,
)
from taut.host.host import Host
from taut.host.situation import Situation

_INTERRUPTS = "/proc/interrupts"
_WANTED = "none on cores that poll"


class TlbShootdowns(Check):
    """Processors with INVLPGB, and those of ARM, need no interrupt for it."""

    id = "A05"
    title = "TLB shootdowns"
    fault = "TLB shootdowns interrupt poll cores"
    severity = Severity.MAJOR
    why = (
        "munmap, mprotect, madvise or fork in any thread interrupts every core that runs the "
        "program: 1 to 3 µs on bare metal, 15 µs in a guest, more than 1 ms at worst"
    )
    source = "Gallenmueller et al., Ducked Tails (2021); rigtorp.se; measured by taut's authors"
    watches = (_INTERRUPTS,)
    traces = ("csd/csd_function_entry",)

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Compare the row TLB, core by core."""
        found = no_poller(host, situation)
        if found is not None:
            return found
        cores = polled_cores(polling_threads(host, situation))
        texts = (
            situation.watched.before.get(_INTERRUPTS),
            situation.watched.after.get(_INTERRUPTS),
        )
        if texts[0] is None or texts[1] is None:
            return unknown("interrupts not watched", NOT_WATCHED, _WANTED)
        before, after = _row(texts[0]), _row(texts[1])
        if before is None or after is None:
            if situation.machine.vendor == "arm":
                return not_applicable("no interrupt is needed for it on this processor")
            return unknown(
                "no row TLB in /proc/interrupts", "a kernel that counts shootdowns", _WANTED
            )
        counts = {core: after.get(core, 0) - before.get(core, 0) for core in cores}
        hit = {core: count for core, count in counts.items() if count}
        seconds = situation.watched.seconds
        if hit:
            shown = ", ".join(f"{count} on core {core}" for core, count in hit.items())
            observed = f"{shown} in {seconds:.0f} s{_traced(situation, cores)}"
            return failed(observed, _WANTED, tuple(hit))
        return passed(f"none on {format_cpu_list(cores)} in {seconds:.0f} s", _WANTED, cores)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """In the program: it is its own memory that changes."""
        return (
            Remedy(
                "A05-by-hand",
                "keep the program's address space as it is",
                by_hand="in the program: no munmap, mprotect, madvise, fork or exec after its "
                "start, in any thread; glibc: MALLOC_TRIM_THRESHOLD_=-1, a large "
                "MALLOC_MMAP_THRESHOLD_; helpers in another process. Programs that ran on the core "
                "before cause them too: keep them off (R24)",
                cost="memory that is not given back",
            ),
        )


def _row(text: str) -> dict[int, int] | None:
    """Give shootdowns by core; the first line names the cores that are online."""
    lines = text.splitlines() or [""]
    cores = [int(word[3:]) for word in lines[0].split() if word[3:].isdecimal()]
    for line in lines[1:]:
        label, _, rest = line.partition(":")
        if label.strip() == "TLB":
            numbers = [int(word) for word in rest.split()[: len(cores)] if word.isdecimal()]
            return dict(zip(cores, numbers, strict=True)) if len(numbers) == len(cores) else None
    return None


def _traced(situation: Situation, cores: CpuSet) -> str:
    """Before 6.5 nothing tells what an interrupt was for."""
    seen = sum(
        event.core in cores and "func=flush_tlb_func" in event.fields
        for event in situation.events or ()
    )
    return f"; {seen} traced" if seen else ""


CHECK = TlbShootdowns()
