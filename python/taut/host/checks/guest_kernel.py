"""Checks of guests: how a guest's own kernel is set up."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from taut.core.cpus import CpuSet, format_cpu_list
from taut.host.boot.item import KernelParameter, SysfsValue
from taut.host.check import Finding, Remedy
from taut.host.checks._boot import booted_with, log_lines
from taut.host.checks._callbacks import callback_threads, offloaded
from taut.host.checks._haltpoll import (
    COST,
    halts,
    has_haltpoll,
    may_be_kvm,
    need_idling,
)
from taut.host.checks._interrupts import COUNTS, total
from taut.host.isolated import BOOT, isolated
from taut.host.table import (
    CRITICAL,
    GUESTS,
    MAJOR,
    MINIMAL,
    MINOR,
    REBOOT,
    Check,
    boot,
    by_hand,
    now,
    write,
)
from taut.host.view import CPU, NAME_CORES, NOHZ_FULL, WATCH, View, mask_in

_ROW = "HYP"
"""Counts the host's call-backs; KVM makes them for asynchronous page faults only, Hyper-V and Xen
for every event of a device."""
_DEDICATED = "PV spinlocks disabled with KVM_HINTS_REALTIME"
# What a kernel sets up only without the hint (arch/x86/kernel/kvm.c).
_SHARED = ("setup pv remote TLB flush", "setup PV sched yield", "PV spinlocks enabled")
_NEW_IRQS = "/proc/irq/default_smp_affinity"
_GOVERNOR = f"{CPU}/cpuidle/current_governor"
_POLL_NS = "/sys/module/haltpoll/parameters/guest_halt_poll_ns"
_POLLED = "200000"
"""The kernel's default, in nanoseconds (Documentation/virt/guest-halt-polling.rst)."""
_DEVICES = "/sys/bus/virtio/devices"
# Numbers of device types and the feature bit (virtio 1.2, 5.5 and 5.15).
_BALLOON, _MEM = 5, 24
_REPORTING_BIT = 5


@dataclass(frozen=True)
class _Seen:
    """What a kernel leaves to its host because it believes to share cores."""

    is_dedicated: bool | None
    """As the host hints; None: the kernel's log does not tell."""
    shared: tuple[str, ...]
    ever: int | None
    rise: int | None
    """Of the call-backs; None: not watched."""


def paravirtual(see: View) -> Finding:
    """Read what the kernel set up, and count call-backs."""
    if not see.machine.is_x86:
        see.skip("x86 only")
    if not may_be_kvm(see):
        see.skip("not asked of a guest of another hypervisor than KVM")
    seen = _look(see)
    observed = _observed(seen)
    if seen.is_dedicated is False or (seen.rise or 0) > 0:
        return see.failed(observed)
    if seen.is_dedicated is None:
        return see.unknown(observed, "the kernel's log since boot: dmesg, as root")
    if seen.ever is None:
        return see.unknown(observed, f"the row {_ROW} of {COUNTS}")
    if seen.ever and seen.rise is None:
        return see.unknown(observed, WATCH)
    return see.passed(observed)


def call_less(see: View) -> Iterable[Remedy]:
    """The hint is the host's; asynchronous page faults can be refused at boot."""
    seen = _look(see)
    if seen.is_dedicated is False:
        yield by_hand(
            "tell the guest that its cores are dedicated",
            "on the KVM host, if each vCPU has a core of its own: QEMU -cpu "
            "host,kvm-hint-dedicated=on; libvirt <features><kvm><hint-dedicated "
            "state='on'/></kvm></features>",
            risk="on shared cores locks and TLB flushes wait for preempted vCPUs",
            rollback=REBOOT,
        )
    refused = KernelParameter("no-kvmapf")
    if seen.ever or booted_with(see, refused):
        yield boot(
            "refuse asynchronous page faults",
            refused,
            cost="a task whose page the host swapped out waits instead of another's turn",
            rollback=REBOOT,
        )


def _look(see: View) -> _Seen:
    log = log_lines(see)
    shared = tuple(text for text in _SHARED if any(text in line for line in log))
    dedicated = any(_DEDICATED in line for line in log)
    before, after = (
        total(texts.get(COUNTS), _ROW) for texts in (see.watched.before, see.watched.after)
    )
    return _Seen(
        is_dedicated=True if dedicated else False if shared else None,
        shared=shared,
        ever=total(see.read(COUNTS), _ROW),
        rise=None if before is None or after is None else after - before,
    )


def _observed(seen: _Seen) -> str:
    if seen.is_dedicated:
        hint = "dedicated cores"
    elif seen.shared:
        hint = f"shared cores ({'; '.join(seen.shared)})"
    else:
        hint = "nothing in the kernel's log"
    calls = "not shown" if seen.ever is None else f"{seen.ever} since boot"
    if seen.rise is not None:
        calls += f", {seen.rise} while watched"
    return f"hint of the host: {hint}; call-backs for page faults: {calls}"


def isolation(see: View) -> Finding:
    """Compare the poll cores with the sets in force (K04, K06, K08, K12)."""
    found = isolated(see.host)
    if found is None:
        see.cannot_tell("isolated cores are not shown", f"a readable {BOOT}")
    if see.read(NOHZ_FULL) is not None and see.list_of_cores(NOHZ_FULL) is None:
        see.odd(NOHZ_FULL)
    if not see.cores and found.cores:
        see.cannot_tell(f"isolated: {format_cpu_list(found.cores)}", NAME_CORES)
    if problems := _problems(see, found.cores):
        return see.failed("; ".join(problems), see.cores)
    return see.passed(f"cores {format_cpu_list(see.cores)}: {see.wanted}", see.cores)


def isolate(see: View) -> Iterable[Remedy]:
    """At boot; what can be done now is K04's."""
    if not see.cores:
        yield by_hand("choose the poll cores", "name them: taut host plan --cores LIST")
        return
    if see.situation.polls and not see.is_there(NOHZ_FULL):
        yield by_hand(
            "run a kernel that can stop the tick",
            "in the guest: install a kernel built with NO_HZ_FULL, as Debian's is",
        )
    if items := _boot_items(see):
        yield boot(
            "isolate the poll cores inside the guest",
            *items,
            profile=MINIMAL,
            cost="these cores run only what is placed there",
            rollback=REBOOT,
        )


def _boot_items(see: View) -> list[KernelParameter]:
    """What is not in force, and what of it was booted with."""
    return [
        parameter
        for parameter, is_missing in _parameters(see)
        if is_missing or booted_with(see, parameter)
    ]


def _parameters(see: View) -> Iterator[tuple[KernelParameter, bool]]:
    """Give each and whether it is not in force; one the kernel was not built for is left out."""
    cores, alone = set(see.cores), isolated(see.host)
    flags = ("domain", "managed_irq")
    isolcpus = KernelParameter("isolcpus", flags=flags, cores=see.cores)
    yield isolcpus, not cores <= set(alone.cores if alone else ())
    if see.situation.polls and see.is_there(NOHZ_FULL):
        tickless = set(see.list_of_cores(NOHZ_FULL) or ())
        yield KernelParameter("nohz_full", cores=see.cores), not cores <= tickless
    callbacks = set(_without_callbacks(see))
    yield KernelParameter("rcu_nocbs", cores=see.cores), not cores <= callbacks
    if see.housekeeping:
        reached = cores & set(mask_in(see.read(_NEW_IRQS)) or ())
        yield KernelParameter("irqaffinity", cores=see.housekeeping), bool(reached)


def _problems(see: View, alone: CpuSet) -> list[str]:
    """Say what does not hold; without named cores, what can hold for none.

    The tick is asked about where something polls: that of a core that sleeps stops by itself.
    """
    cores = set(see.cores)
    if not cores:
        return ["no core is isolated"]
    held = {"not isolated": alone}
    if see.situation.polls:
        held["with tick (not in nohz_full)"] = see.list_of_cores(NOHZ_FULL) or ()
    held["with RCU callbacks"] = _without_callbacks(see)
    missing = {what: cores - set(by) for what, by in held.items()}
    found = [f"{format_cpu_list(those)} {what}" for what, those in missing.items() if those]
    if see.situation.polls and not see.is_there(NOHZ_FULL):
        found.append("kernel without NO_HZ_FULL")
    if reached := cores & set(mask_in(see.read(_NEW_IRQS)) or ()):
        found.append(f"{format_cpu_list(reached)} in the mask of new interrupts")
    return found


def _without_callbacks(see: View) -> CpuSet:
    """Cores whose RCU callbacks run elsewhere (K08)."""
    return offloaded(see) if callback_threads(see) else ()


def idle(see: View) -> Finding:
    """Look at the governor, and whether it polls at all; who sleeps pays at each packet."""
    driver, governor = see.read(f"{CPU}/cpuidle/current_driver"), see.read(_GOVERNOR)
    polled_ns = see.number(_POLL_NS)
    observed = f"driver {driver or 'none'}, governor {governor or 'none'}"
    if governor == "haltpoll":
        observed += f", polls {'?' if polled_ns is None else polled_ns} ns"
    need_idling(see, observed)
    if governor is None:
        see.cannot_tell(observed, f"a readable {_GOVERNOR}")
    if governor == "haltpoll" and polled_ns is None:
        see.cannot_tell(observed, f"a readable {_POLL_NS}")
    if governor == "haltpoll" and (polled_ns or 0) > 0:
        return see.passed(observed)
    return halts(see, observed)


def poll_before_halting(see: View) -> Iterable[Remedy]:
    """Choose the governor where there is one, and let it poll; only KVM's guests can."""
    if not has_haltpoll(see):
        return
    changes = []
    if "haltpoll" in (see.read(f"{CPU}/cpuidle/available_governors") or "").split():
        changes.append(write(_GOVERNOR, "haltpoll", "text"))
    if (see.number(_POLL_NS) or 0) <= 0 and see.read(_POLL_NS) is not None:
        changes.append(write(_POLL_NS, _POLLED))
    if changes:
        yield now("poll before halting", *changes, cost=COST)
    items = (KernelParameter("cpuidle_haltpoll.force", "1"), SysfsValue(_POLL_NS, _POLLED))
    yield boot("boot with haltpoll", *items, cost=COST)


def memory_returned(see: View) -> Finding:
    """Look for devices with a driver, and what was negotiated."""
    if not see.is_there("/sys/bus"):
        see.cannot_tell("no /sys/bus", "a mounted /sys")
    kinds = {name: see.number(f"{_DEVICES}/{name}/device") for name in see.names(_DEVICES)}
    found = [
        _described(see, name, kind)
        for name, kind in kinds.items()
        if kind in (_BALLOON, _MEM) and see.is_there(f"{_DEVICES}/{name}/driver")
    ]
    if found:
        return see.failed("; ".join(found))
    if unread := [name for name, kind in kinds.items() if kind is None]:
        return see.unknown(f"type of {' '.join(unread)}", f"a readable {_DEVICES}")
    return see.passed(f"none among {len(kinds)} virtio devices")


def _described(see: View, name: str, kind: int | None) -> str:
    if kind == _MEM:
        return f"{name}: virtio-mem"
    # One character per bit, the lowest first.
    features = see.read(f"{_DEVICES}/{name}/features") or ""
    if features[_REPORTING_BIT : _REPORTING_BIT + 1] != "1":
        reporting = "without" if features else "perhaps with"
        return f"{name}: balloon, {reporting} free page reporting"
    row = f"{name}-reporting_vq"
    texts = (see.read(COUNTS), see.watched.before.get(COUNTS), see.watched.after.get(COUNTS))
    times, before, after = (total(text, row) for text in texts)
    text = f"{name}: balloon with free page reporting"
    if times is not None:
        text += f", {times} interrupts since boot"
    if before is not None and after is not None:
        text += f", {after - before} while watched"
    return text


CHECKS = (
    Check(
        "G03",
        "paravirtual features",
        "The guest calls its host more than it needs to",
        MINOR,
        paravirtual,
        "no asynchronous page faults; the host says that the cores are dedicated",
        roles=GUESTS,
        watches=(COUNTS,),
        remedies=call_less,
        why="asynchronous page faults interrupt the guest when the host swaps; without the hint "
        "that cores are dedicated, TLB flushes, yields and locks call the host",
        source="Linux commit a262bca3aba0; measured on the development machine",
    ),
    Check(
        "G04",
        "isolation inside the guest",
        "Cores are not isolated inside the guest",
        CRITICAL,
        isolation,
        "poll cores isolated, without tick, RCU callbacks and new interrupts",
        roles=GUESTS,
        remedies=isolate,
        why="a neighbour on the same virtual core costs a time slice (4 ms), and each tick of the "
        "guest several exits; nohz_full in a guest took the tail to less than a quarter",
        source="Gallenmueller et al., Ducked Tails (2021); measured on the development machine",
    ),
    Check(
        "G05",
        "idle in the guest",
        "An idle core leaves to the host at once",
        MAJOR,
        idle,
        "haltpoll, which polls before it halts",
        roles=GUESTS,
        remedies=poll_before_halting,
        why="a virtual core that halts leaves to the host and takes tens of microseconds to "
        "return: the kernel's bridge at 10 kpkt/s, p50 23.9 µs, and 8.0 µs once its core polls "
        "before it halts; a core that polls packets never idles, there it does not matter",
        source="guest-halt-polling.rst; measured on the development machine",
    ),
    Check(
        "G06",
        "memory given back to the host",
        "Memory may go back to the host",
        MAJOR,
        memory_returned,
        "no balloon, no free page reporting, no virtio-mem",
        roles=GUESTS,
        watches=(COUNTS,),
        remedies=by_hand(
            "give the guest its memory for good",
            "on the host: QEMU without -device virtio-balloon and virtio-mem, or "
            "free-page-reporting=off; libvirt <memballoon model='none'/>; all memory "
            "preallocated and locked",
            cost="memory the guest does not use is lost to other guests",
            rollback=REBOOT,
        ),
        why="a page that was given back faults in the host at its next touch: microseconds to "
        "tens of them, and nothing in the guest shows it",
        source="virtio 1.2; measured on the development machine",
    ),
)
