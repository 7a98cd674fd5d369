"""Polling before halting (haltpoll), which a kernel does as a guest of KVM alone."""

from dataclasses import replace

from taut.host.check import Finding
from taut.host.table import MAJOR, MINOR
from taut.host.view import CPU, View

COST = "the host's core is busy for up to 200 µs of each idle period"
"""Of haltpoll, to whoever owns the host."""
_GOVERNORS = f"{CPU}/cpuidle/available_governors"
# Hypervisors that are not KVM, as their firmware names them.
_OTHERS = ("vmware", "microsoft", "xen", "parallels", "bhyve")


def has_haltpoll(see: View) -> bool:
    """Whether its parameters do anything here.

    Its governor registers only where KVM is the hypervisor (kvm_para_available); kernels before
    5.8 do not list governors: there the hypervisor's name decides.
    """
    governors = see.read(_GOVERNORS)
    if governors is not None:
        return "haltpoll" in governors.split()
    return may_be_kvm(see)


def may_be_kvm(see: View) -> bool:
    """Whether the hypervisor's name is not another's."""
    name = (see.machine.hypervisor or "").lower()
    return not any(other in name for other in _OTHERS)


def need_idling(see: View, observed: str) -> None:
    """Raise CannotJudge where the cores that are asked about poll and so never idle."""
    if see.cores and not see.situation.sleeps:
        see.skip(f"poll cores never idle ({observed})")


def halts(see: View, observed: str) -> Finding:
    """Make a finding of cores that leave to the host as soon as they idle."""
    # Where nobody sleeps for packets only what runs beside them waits.
    severity = MAJOR if see.situation.sleeps else MINOR
    return replace(see.failed(observed, see.cores), severity=severity)
