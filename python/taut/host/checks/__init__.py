"""Every check of a host: a table per topic, named here one by one, in the catalogue's order."""

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
from taut.host.table import Check

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
_GROUPS = ("HW", "K", "R", "A", "V", "G", "C")


def _place(check: Check) -> tuple[int, str]:
    """Where the catalogue has it."""
    return _GROUPS.index(check.id.rstrip("0123456789")), check.id


CHECKS: tuple[Check, ...] = tuple(
    sorted((check for topic in _TOPICS for check in topic.CHECKS), key=_place)
)
