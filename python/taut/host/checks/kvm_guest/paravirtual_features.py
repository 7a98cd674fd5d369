"""G03: what the guest's kernel leaves to its host because it believes to share cores."""

from collections.abc import Sequence
from dataclasses import dataclass

from taut.host.boot.item import KernelParameter
from taut.host.check import (
    Check,
    Finding,
    Remedy,
    Rollback,
    Severity,
    failed,
    not_applicable,
    passed,
    unknown,
)
from taut.host.checks.kvm_guest._shape import INTERRUPTS, dmesg, interrupts, not_a_guest
from taut.host.host import Host
from taut.host.situation import Situation

_WANTED = "no asynchronous page faults; the host says that the cores are dedicated"
_ROW = "HYP"
"""Counts the host's call-backs; KVM makes them for asynchronous page faults only."""
_DEDICATED = "PV spinlocks disabled with KVM_HINTS_REALTIME"
# What a kernel sets up only without the hint (arch/x86/kernel/kvm.c).
_SHARED = ("setup pv remote TLB flush", "setup PV sched yield", "PV spinlocks enabled")


@dataclass(frozen=True)
class _Seen:
    is_dedicated: bool | None
    """As the host hints; None: the kernel's log does not tell."""
    shared: tuple[str, ...]
    ever: int | None
    rise: int | None
    """Of the call-backs; None: not watched."""


class _ParavirtualFeatures(Check):
    id = "G03"
    title = "paravirtual features"
    fault = "The guest calls its host more than it needs to"
    severity = Severity.MINOR
    why = (
        "asynchronous page faults interrupt the guest when the host swaps; without the hint that "
        "cores are dedicated, TLB flushes, yields and locks call the host"
    )
    source = "Linux commit a262bca3aba0; measured on the development machine"
    watches = (INTERRUPTS,)

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Read what the kernel set up, and count call-backs."""
        if (finding := not_a_guest(situation)) is not None:
            return finding
        if not situation.machine.is_x86:
            return not_applicable("x86 only")
        seen = _look(host, situation)
        observed = _observed(seen)
        if seen.is_dedicated is False or (seen.rise or 0) > 0:
            return failed(observed, _WANTED)
        if seen.is_dedicated is None:
            return unknown(observed, "the kernel's log since boot: dmesg, as root", _WANTED)
        if seen.ever is None:
            return unknown(observed, f"the row {_ROW} of {INTERRUPTS}", _WANTED)
        if seen.ever and seen.rise is None:
            return unknown(observed, "watch a while: --watch 5s", _WANTED)
        return passed(observed, _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """The hint is the host's; asynchronous page faults can be refused at boot."""
        seen = _look(host, situation)
        found = []
        if seen.is_dedicated is False:
            found.append(
                Remedy(
                    "G03-by-hand",
                    "tell the guest that its cores are dedicated",
                    by_hand="on the KVM host, if each vCPU has a core of its own: QEMU -cpu "
                    "host,kvm-hint-dedicated=on; libvirt <features><kvm><hint-dedicated "
                    "state='on'/></kvm></features>",
                    risk="on shared cores locks and TLB flushes wait for preempted vCPUs",
                    rollback=Rollback.REBOOT,
                )
            )
        if seen.ever:
            found.append(
                Remedy(
                    "G03-boot",
                    "refuse asynchronous page faults",
                    boot=(KernelParameter("no-kvmapf"),),
                    cost="a task whose page the host swapped out waits instead of another's turn",
                    rollback=Rollback.REBOOT,
                )
            )
        return tuple(found)


def _look(host: Host, situation: Situation) -> _Seen:
    log = dmesg(host)
    shared = tuple(text for text in _SHARED if any(text in line for line in log))
    dedicated = any(_DEDICATED in line for line in log)
    before = interrupts(situation.watched.before.get(INTERRUPTS), _ROW)
    after = interrupts(situation.watched.after.get(INTERRUPTS), _ROW)
    return _Seen(
        is_dedicated=True if dedicated else False if shared else None,
        shared=shared,
        ever=interrupts(host.read(INTERRUPTS), _ROW),
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


CHECK = _ParavirtualFeatures()
