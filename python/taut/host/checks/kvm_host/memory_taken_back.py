"""V10: what takes pages of a running guest away: merging, a balloon, swap."""

from collections.abc import Sequence

from taut.host.check import Finding, Remedy, Severity, failed, passed, unreadable
from taut.host.checks.kvm_host._shape import Guest, GuestCheck, in_the_guest, options
from taut.host.host import Host
from taut.host.situation import Situation
from taut.host.threads import some

_MERGING = "/sys/kernel/mm/ksm/run"
_WANTED = "no page merging, no balloon, no swap under the guest"


class MemoryTakenBack(GuestCheck):
    """Dirty logging is the fourth; only the monitor knows (QMP, while it migrates)."""

    id = "V10"
    title = "guest memory stays mapped"
    fault = "Guest memory may be taken away"
    severity = Severity.MAJOR
    why = (
        "merging, a balloon, swap and dirty logging unmap or write-protect guest pages: a flush "
        "of the second-level TLB on every core of the guest, then faults"
    )
    source = "tuned realtime-virtual-host"

    def judge(self, host: Host, situation: Situation, found: Sequence[Guest]) -> Finding:  # noqa: ARG002
        """Look at the host and at each guest."""
        merging = host.read(_MERGING)
        if merging is None and host.is_denied(_MERGING):
            return unreadable(host, _MERGING, _WANTED)
        wrong = []
        merged = [guest for guest in found if not _has(guest, "-machine", "mem-merge=off")]
        if merging == "1" and merged:
            wrong.append(f"{_MERGING} = 1 and {merged[0]} takes part")
        wrong += [f"{guest}: balloon" for guest in found if _has_balloon(guest)]
        swapped = {guest: host.fields(f"/proc/{guest.pid}/status").get("VmSwap") for guest in found}
        wrong += [
            f"{guest}: {size} in swap"
            for guest, size in swapped.items()
            if size and size.split()[0] != "0"
        ]
        if wrong:
            return failed(some(wrong), _WANTED)
        return passed("nothing takes guest pages back (dirty logging: ask the monitor)", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """The host's own settings are R12 and R15."""
        what = (
            "on this host: <memballoon model='none'/>, <nosharepages/> and <locked/> in"
            " <memoryBacking> (virsh edit); page merging and swap of the host: R12 and R15"
        )
        return (in_the_guest(self.id, "keep the guest's pages", what, cost="no overcommitment"),)


def _has(guest: Guest, option: str, word: str) -> bool:
    return any(word in text.split(",") for text in options(guest, option))


def _has_balloon(guest: Guest) -> bool:
    return any("balloon" in text.partition(",")[0] for text in options(guest, "-device"))


CHECK = MemoryTakenBack()
