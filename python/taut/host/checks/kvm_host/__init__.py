"""The checks of group V of the catalogue, in its order."""

from taut.host.check import HostCheck
from taut.host.checks.kvm_host import (
    clock_resync,
    device_assignment,
    exit_rate,
    exitless_interrupts,
    guest_memory,
    halt_polling,
    host_cores,
    idle_exits,
    memory_taken_back,
    nx_huge_pages,
    pause_exits,
    vcpu_pinning,
)

CHECKS: tuple[HostCheck, ...] = (
    vcpu_pinning.CHECK,  # V01
    guest_memory.CHECK,  # V02
    pause_exits.CHECK,  # V03
    clock_resync.CHECK,  # V04
    nx_huge_pages.CHECK,  # V05
    halt_polling.CHECK,  # V06
    idle_exits.CHECK,  # V07
    exitless_interrupts.CHECK,  # V08
    device_assignment.CHECK,  # V09
    memory_taken_back.CHECK,  # V10
    host_cores.CHECK,  # V11
    exit_rate.CHECK,  # V12
)
