"""Every check of a host: a table per topic, named here one by one, in the catalogue's order.

Those of plug-ins stand behind.
"""

from taut.core.plugins import Family
from taut.host.checks import (
    changes,
    clocks,
    containers,
    devices,
    firmware,
    frequency,
    guest_kernel,
    guest_time,
    guests,
    idle,
    interrupt_sources,
    interrupts,
    isolation,
    kernel_threads,
    kernel_work,
    kvm,
    kvm_load,
    memory,
    neighbours,
    pollers,
    processor,
    program,
    quota,
    rcu,
    realtime,
    steering,
    ticks,
    watchdogs,
)
from taut.host.plugged import guarded, refuses
from taut.host.table import GROUPS, Check

_TOPICS = (
    changes,
    clocks,
    containers,
    devices,
    firmware,
    frequency,
    guest_kernel,
    guest_time,
    guests,
    idle,
    interrupt_sources,
    interrupts,
    isolation,
    kernel_threads,
    kernel_work,
    kvm,
    kvm_load,
    memory,
    neighbours,
    pollers,
    processor,
    program,
    quota,
    rcu,
    realtime,
    steering,
    ticks,
    watchdogs,
)


def _place(check: Check) -> tuple[int, str]:
    """Where the catalogue has it."""
    return GROUPS.index(check.id.rstrip("0123456789")), check.id


_OURS: tuple[Check, ...] = tuple(
    sorted((check for topic in _TOPICS for check in topic.CHECKS), key=_place)
)

FAMILY = Family("taut.checks", Check, _OURS, lambda check: check.id, refuses=refuses)

CHECKS: tuple[Check, ...] = (*_OURS, *(guarded(check) for check in FAMILY.added().values()))
