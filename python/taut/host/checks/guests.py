"""Checks of KVM hosts: where the guests' threads and memory are, and what they idle and send by."""

from collections import Counter
from collections.abc import Iterable

from taut.core.cpus import CpuSet, format_cpu_list
from taut.host.check import Finding, Remedy, unreadable
from taut.host.checks._guests import memory_mib, need_command_lines, need_guests, pinnings
from taut.host.checks._threads import move
from taut.host.guests import Guest, guests, options
from taut.host.setting import Change
from taut.host.table import CRITICAL, EXTREME, KVM_HOSTS, MAJOR, MINIMAL, MINOR, Check, by_hand, now
from taut.host.threads import some
from taut.host.view import CannotJudge, View

# Of the memory the command line names: firmware and video memory may lie elsewhere.
_LEAST_SHARE = 0.9
_EMULATED = ("virtio-net", "e1000", "rtl8139", "igb", "vmxnet3")
_MERGING = "/sys/kernel/mm/ksm/run"


def pinning(see: View) -> Finding:
    """As the threads' masks are now, whatever the guest's definition says."""
    found = need_guests(see)
    for guest in found:
        if not guest.virtual_cpus:
            needs = "names of threads: start QEMU with -name NAME,debug-threads=on"
            see.cannot_tell(f"{guest}: no thread is named as a virtual CPU", needs)
    virtual = [each for guest in found for each in guest.virtual_cpus]
    users = Counter(core for each in virtual for core in each.allowed)
    wrong = [text for guest in found for text in _wrong_cpus(guest, users, see.cores)]
    wrong += [text for guest in found for text in _wrong_helpers(guest, set(users))]
    if wrong:
        return see.failed(some(wrong, most=3), see.cores)
    cores = tuple(sorted(users))
    return see.passed(f"{len(virtual)} virtual CPUs on cores {format_cpu_list(cores)}", cores)


def pin(see: View) -> Iterable[Remedy]:
    """Move the threads, where the cores are for guests and suffice."""
    if changes := _moves(see):
        yield now(
            f"pin virtual CPUs to cores {format_cpu_list(see.cores)}, the rest to"
            f" {format_cpu_list(see.housekeeping)}",
            *changes,
            profile=MINIMAL,
            risk="a thread that the guest starts later is not moved",
        )
    yield by_hand(
        "pin them in the guest's definition",
        "on this host: <vcpupin>, <emulatorpin> and <iothreadpin> in <cputune> (virsh edit);"
        " taut host plan --boot writes them as a fragment",
    )


def _wrong_cpus(guest: Guest, users: Counter[int], poll: CpuSet) -> list[str]:
    wrong = []
    for each in guest.virtual_cpus:
        cores = format_cpu_list(each.allowed)
        if len(each.allowed) != 1:
            wrong.append(f"{guest}: {each.comm} may run on {cores}")
        elif users[each.allowed[0]] > 1:
            wrong.append(f"{guest}: {each.comm} shares core {cores} with another virtual CPU")
        elif poll and each.allowed[0] not in poll:
            among = format_cpu_list(poll)
            wrong.append(f"{guest}: {each.comm} is on core {cores}, not among {among}")
    return wrong


def _wrong_helpers(guest: Guest, taken: set[int]) -> list[str]:
    return [
        f"{guest}: {each.comm} may run on {format_cpu_list(each.allowed)}"
        for each in guest.helpers
        if taken.intersection(each.allowed)
    ]


def _moves(see: View) -> list[Change]:
    pinned = pinnings(see)
    if not pinned:
        return []
    rest = format_cpu_list(see.housekeeping)
    helpers = [move(each, rest) for guest in guests(see.host) for each in guest.helpers]
    return [*helpers, *(move(each, str(core)) for each, core in pinned)]


def memory(see: View) -> Finding:
    """Every guest, by what the monitor's process has, not by its definition."""
    wrong, right = [], []
    # The first line is a header.
    swaps = len((see.read("/proc/swaps") or "").splitlines()) > 1
    for guest in need_guests(see):
        path = f"/proc/{guest.pid}/status"
        fields = see.host.fields(path)
        huge, small, locked = (
            _kib(fields.get(name)) for name in ("HugetlbPages", "VmRSS", "VmLck")
        )
        if huge is None or small is None or locked is None:
            see.cannot_tell(f"{guest}: sizes are not told", f"a readable {path}; run as root")
        text = f"{guest}: {huge // 1024} MiB in hugepages, {small // 1024} MiB in other pages"
        least = (memory_mib(guest) or 0) * 1024 * _LEAST_SHARE or small
        if huge < max(least, 1):
            wrong.append(text)
        elif locked == 0 and swaps:
            wrong.append(f"{text}; not locked, and there is swap")
        else:
            right.append(text)
    return see.failed(some(wrong)) if wrong else see.passed(some(right))


def _kib(text: str | None) -> int | None:
    number = (text or "").partition(" ")[0]
    return int(number) if number.isdecimal() and len(number) < 16 else None


def idling(see: View) -> Finding:
    """HLT, MWAIT and PAUSE stay in the guest. By the command line: KVM does not show it."""
    found = need_command_lines(see)
    without = [guest for guest in found if not _has(guest, "-overcommit", "cpu-pm=on")]
    if without:
        return see.failed(some([f"{guest}: no cpu-pm=on" for guest in without]))
    return see.passed(some([f"{guest}: cpu-pm=on" for guest in found]))


def _has(guest: Guest, option: str, word: str) -> bool:
    return any(word in text.split(",") for text in options(guest, option))


def devices(see: View) -> Finding:
    """A card of its own needs no host core, no copy, and no notification."""
    kinds = {str(guest): _devices(guest) for guest in need_command_lines(see)}
    emulated, assigned = (
        [
            f"{guest}: {some(chosen)}"
            for guest, names in kinds.items()
            if (chosen := [name for name in names if name.startswith(kind)])
        ]
        for kind in (_EMULATED, "vfio-pci")
    )
    if emulated:
        return see.failed(some(emulated))
    if not assigned:
        see.skip("no guest has any")
    return see.passed(some(assigned))


def _devices(guest: Guest) -> list[str]:
    words = [text.partition(",")[0] for text in options(guest, "-device")]
    # libvirt writes devices as JSON.
    return [word.partition('"driver":"')[2].partition('"')[0] or word for word in words]


def taken_back(see: View) -> Finding:
    """Look at the host and at each guest.

    Dirty logging takes pages too; only the monitor knows (QMP, while it migrates).
    """
    found = need_guests(see)
    merging = see.read(_MERGING)
    if merging is None and see.host.is_denied(_MERGING):
        raise CannotJudge(unreadable(see.host, _MERGING, see.wanted))
    wrong = []
    merged = [guest for guest in found if not _has(guest, "-machine", "mem-merge=off")]
    if merging == "1" and merged:
        wrong.append(f"{_MERGING} = 1 and {merged[0]} takes part")
    balloons = [guest for guest in found if any("balloon" in each for each in _models(guest))]
    wrong += [f"{guest}: balloon" for guest in balloons]
    for guest in found:
        size = see.host.fields(f"/proc/{guest.pid}/status").get("VmSwap")
        if size and size.split()[0] != "0":
            wrong.append(f"{guest}: {size} in swap")
    if wrong:
        return see.failed(some(wrong))
    return see.passed("nothing takes guest pages back (dirty logging: ask the monitor)")


def _models(guest: Guest) -> list[str]:
    return [text.partition(",")[0] for text in options(guest, "-device")]


CHECKS = (
    Check(
        "V01",
        "virtual CPUs are pinned",
        "Virtual CPUs are not pinned",
        CRITICAL,
        pinning,
        "each virtual CPU alone on one core, emulator, I/O and vhost threads on other cores",
        roles=KVM_HOSTS,
        remedies=pin,
        why="a virtual CPU that shares its core is preempted for whole time slices, milliseconds "
        "that the guest sees as steal time at best",
        source="Intel NFV-I host configuration (2018); tuned realtime-virtual-host",
    ),
    Check(
        "V02",
        "guest memory in hugepages",
        "Guest memory is not all in hugepages",
        CRITICAL,
        memory,
        "all memory of the guest in hugepages, allocated when it starts and locked",
        roles=KVM_HOSTS,
        remedies=(
            # In the guest's definition; the hugepages themselves are K22's.
            by_hand(
                "back the guest with hugepages",
                "on this host: <memoryBacking><hugepages/><locked/><allocation mode='immediate'/>"
                "</memoryBacking> (virsh edit); QEMU: -object memory-backend-memfd,hugetlb=on,"
                "prealloc=on and -overcommit mem-lock=on",
                cost="the memory is the guest's alone",
            ),
        ),
        why="memory that the host allocates at first touch, or swaps, is an EPT violation in the "
        "middle of the guest's work: microseconds each, milliseconds from swap",
        source="Intel NFV-I host configuration (2018)",
    ),
    Check(
        "V07",
        "idling without exits",
        "Idle virtual CPUs leave their guest",
        MINOR,
        idling,
        "-overcommit cpu-pm=on for guests with cores of their own",
        roles=KVM_HOSTS,
        remedies=by_hand(
            "let the guest idle by itself",
            "on this host: start QEMU with -overcommit cpu-pm=on (libvirt: a"
            " <qemu:commandline>), only if nothing else shall run on the guest's cores (V01)",
            profile=EXTREME,
            cost="the host sees the cores fully busy, and saves no power on them",
        ),
        why="each HLT, MWAIT or PAUSE that exits costs microseconds, and the way back the same "
        "again",
        source="QEMU (-overcommit cpu-pm); general knowledge",
    ),
    Check(
        "V09",
        "network device of the guest",
        "Guests have emulated network devices",
        MINOR,
        devices,
        "a virtual function of the network card (vfio-pci)",
        roles=KVM_HOSTS,
        remedies=by_hand(
            "give the guest a virtual function",
            "on this host: <hostdev mode='subsystem' type='pci' managed='yes'> with a"
            " virtual function of the card (/sys/class/net/CARD/device/sriov_numvfs)",
            profile=EXTREME,
            cost="no live migration; the host's switch no longer sees the packets",
            measure="vhost-user with a poll-mode switch comes close: compare both",
        ),
        why="a paravirtual device costs a host thread or a switch on every packet, and exits or "
        "notifications of microseconds; a virtual function is reached without any of them",
        source="Intel NFV-I host configuration (2018)",
    ),
    Check(
        "V10",
        "guest memory stays mapped",
        "Guest memory may be taken away",
        MAJOR,
        taken_back,
        "no page merging, no balloon, no swap under the guest",
        roles=KVM_HOSTS,
        remedies=by_hand(
            "keep the guest's pages",
            "on this host: <memballoon model='none'/>, <nosharepages/> and <locked/> in"
            " <memoryBacking> (virsh edit); page merging and swap of the host: R12 and R15",
            cost="no overcommitment",
        ),
        why="merging, a balloon, swap and dirty logging unmap or write-protect guest pages: a "
        "flush of the second-level TLB on every core of the guest, then faults",
        source="tuned realtime-virtual-host",
    ),
)
