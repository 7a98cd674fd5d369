"""Every check of a host: a table per topic, named here one by one, in the catalogue's order."""

from importlib import import_module
from pkgutil import walk_packages

from taut.host.check import HostCheck
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


def _place(check: HostCheck) -> tuple[int, str]:
    """Where the catalogue has it."""
    return _GROUPS.index(check.id.rstrip("0123456789")), check.id


def _not_yet_moved() -> list[HostCheck]:
    """Checks that still have a file of their own."""
    modules = [import_module(found.name) for found in walk_packages(__path__, f"{__name__}.")]
    return [module.CHECK for module in modules if hasattr(module, "CHECK")]


CHECKS: tuple[HostCheck, ...] = tuple(
    sorted((*_not_yet_moved(), *(check for topic in _TOPICS for check in topic.CHECKS)), key=_place)
)
