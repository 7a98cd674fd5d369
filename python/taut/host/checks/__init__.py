"""Every check of a host, by group; each group's list names its own."""

from taut.host.check import HostCheck
from taut.host.checks import (
    application,
    container,
    hardware,
    kernel,
    kvm_guest,
    kvm_host,
    runtime,
)

CHECKS: tuple[HostCheck, ...] = (
    *hardware.CHECKS,
    *kernel.CHECKS,
    *runtime.CHECKS,
    *application.CHECKS,
    *kvm_host.CHECKS,
    *kvm_guest.CHECKS,
    *container.CHECKS,
)
