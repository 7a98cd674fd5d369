"""V01: each virtual CPU alone on a core, and everything else of the guest elsewhere."""

from collections import Counter
from collections.abc import Sequence

from taut.core.cpus import CpuSet, format_cpu_list
from taut.host.check import Finding, Profile, Remedy, Severity, failed, passed, unknown
from taut.host.checks.kvm_host._shape import Guest, GuestCheck, guests, in_the_guest
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.thread_affinity import ThreadAffinity
from taut.host.situation import Situation
from taut.host.threads import Thread, some

_WANTED = "each virtual CPU alone on one core, emulator, I/O and vhost threads on other cores"


class VcpuPinning(GuestCheck):
    """As the threads' masks are now, whatever the guest's definition says."""

    id = "V01"
    title = "virtual CPUs are pinned"
    fault = "Virtual CPUs are not pinned"
    severity = Severity.CRITICAL
    why = (
        "a virtual CPU that shares its core is preempted for whole time slices, milliseconds that "
        "the guest sees as steal time at best"
    )
    source = "Intel NFV-I host configuration (2018); tuned realtime-virtual-host"

    def judge(self, host: Host, situation: Situation, found: Sequence[Guest]) -> Finding:  # noqa: ARG002
        """Look at every thread of every guest."""
        unnamed = [guest for guest in found if not guest.virtual_cpus]
        if unnamed:
            return unknown(
                f"{unnamed[0]}: no thread is named as a virtual CPU",
                "names of threads: start QEMU with -name NAME,debug-threads=on",
                _WANTED,
            )
        users = Counter(
            core for guest in found for each in guest.virtual_cpus for core in each.allowed
        )
        taken = set(users)
        wrong = [
            *(text for guest in found for text in _wrong_cpus(guest, users, situation.cores)),
            *(text for guest in found for text in _wrong_helpers(guest, taken)),
        ]
        if wrong:
            return failed(some(wrong, most=3), _WANTED, situation.cores)
        count = sum(len(guest.virtual_cpus) for guest in found)
        cores = tuple(sorted(taken))
        return passed(f"{count} virtual CPUs on cores {format_cpu_list(cores)}", _WANTED, cores)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Move the threads, where the cores to move them to are known and suffice."""
        lasting = in_the_guest(
            self.id,
            "pin them in the guest's definition",
            "on this host: <vcpupin>, <emulatorpin> and <iothreadpin> in <cputune> (virsh edit);"
            " taut host plan --boot writes them as a fragment",
        )
        changes = _moves(guests(host), situation)
        if not changes:
            return (lasting,)
        now = Remedy(
            f"{self.id}-now",
            f"pin virtual CPUs to cores {format_cpu_list(situation.cores)}, the rest to"
            f" {format_cpu_list(situation.housekeeping)}",
            changes=changes,
            profile=Profile.MINIMAL,
            risk="a thread that the guest starts later is not moved",
        )
        return (now, lasting)


def _wrong_cpus(guest: Guest, users: Counter[int], poll: CpuSet) -> list[str]:
    wrong = []
    for each in guest.virtual_cpus:
        cores = format_cpu_list(each.allowed)
        if len(each.allowed) != 1:
            wrong.append(f"{guest}: {each.comm} may run on {cores}")
        elif users[each.allowed[0]] > 1:
            wrong.append(f"{guest}: {each.comm} shares core {cores} with another virtual CPU")
        elif poll and each.allowed[0] not in poll:
            wrong.append(
                f"{guest}: {each.comm} is on core {cores}, not among {format_cpu_list(poll)}"
            )
    return wrong


def _wrong_helpers(guest: Guest, taken: set[int]) -> list[str]:
    return [
        f"{guest}: {each.comm} may run on {format_cpu_list(each.allowed)}"
        for each in guest.helpers
        if taken.intersection(each.allowed)
    ]


def _moves(found: Sequence[Guest], situation: Situation) -> list[Change]:
    virtual = [each for guest in found for each in guest.virtual_cpus]
    if not situation.housekeeping or not virtual or len(virtual) > len(situation.cores):
        return []
    rest = format_cpu_list(situation.housekeeping)
    helpers = [Change(_affinity(each), rest) for guest in found for each in guest.helpers]
    pinned = zip(virtual, situation.cores, strict=False)
    return [*helpers, *(Change(_affinity(each), str(core)) for each, core in pinned)]


def _affinity(thread: Thread) -> ThreadAffinity:
    return ThreadAffinity(thread.tid, thread.comm, thread.start_ticks)


CHECK = VcpuPinning()
