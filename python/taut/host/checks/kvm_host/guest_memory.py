"""V02: a guest's memory lies in hugepages, all of it, from the start."""

from collections.abc import Sequence

from taut.host.check import Finding, Remedy, Severity, failed, passed, unknown
from taut.host.checks.kvm_host._shape import Guest, GuestCheck, in_the_guest, memory_mib
from taut.host.host import Host
from taut.host.situation import Situation
from taut.host.threads import some

_WANTED = "all memory of the guest in hugepages, allocated when it starts and locked"
# Of the memory the command line names: firmware and video memory may lie elsewhere.
_LEAST_SHARE = 0.9


class GuestMemory(GuestCheck):
    """By what the monitor's process has, not by its definition."""

    id = "V02"
    title = "guest memory in hugepages"
    fault = "Guest memory is not all in hugepages"
    severity = Severity.CRITICAL
    why = (
        "memory that the host allocates at first touch, or swaps, is an EPT violation in the "
        "middle of the guest's work: microseconds each, milliseconds from swap"
    )
    source = "Intel NFV-I host configuration (2018)"

    def judge(self, host: Host, situation: Situation, found: Sequence[Guest]) -> Finding:  # noqa: ARG002
        """Every guest."""
        wrong, right = [], []
        for guest in found:
            fields = host.fields(f"/proc/{guest.pid}/status")
            huge, small, locked = (
                _kib(fields.get(name)) for name in ("HugetlbPages", "VmRSS", "VmLck")
            )
            if huge is None or small is None or locked is None:
                needs = f"a readable /proc/{guest.pid}/status; run as root"
                return unknown(f"{guest}: sizes are not told", needs, _WANTED)
            text = f"{guest}: {huge // 1024} MiB in hugepages, {small // 1024} MiB in other pages"
            least = (memory_mib(guest) or 0) * 1024 * _LEAST_SHARE or small
            if huge < max(least, 1):
                wrong.append(text)
            elif locked == 0 and _swaps(host):
                wrong.append(f"{text}; not locked, and there is swap")
            else:
                right.append(text)
        return failed(some(wrong), _WANTED) if wrong else passed(some(right), _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """In the guest's definition; the hugepages themselves are K22's."""
        what = (
            "on this host: <memoryBacking><hugepages/><locked/><allocation mode='immediate'/>"
            "</memoryBacking> (virsh edit); QEMU: -object memory-backend-memfd,hugetlb=on,"
            "prealloc=on and -overcommit mem-lock=on"
        )
        cost = "the memory is the guest's alone"
        return (in_the_guest(self.id, "back the guest with hugepages", what, cost=cost),)


def _kib(text: str | None) -> int | None:
    number = (text or "").partition(" ")[0]
    return int(number) if number.isdecimal() and len(number) < 16 else None


def _swaps(host: Host) -> bool:
    return len((host.read("/proc/swaps") or "").splitlines()) > 1


CHECK = GuestMemory()
