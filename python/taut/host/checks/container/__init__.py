"""The checks of group C of the catalogue, in its order."""

from taut.host.check import HostCheck
from taut.host.checks.container import (
    exclusive_cores,
    host_interrupts,
    memory_limits,
    partition_validity,
    read_only_settings,
    tracing_access,
)

CHECKS: tuple[HostCheck, ...] = (
    exclusive_cores.CHECK,  # C01
    host_interrupts.CHECK,  # C02
    read_only_settings.CHECK,  # C03
    memory_limits.CHECK,  # C04
    tracing_access.CHECK,  # C05
    partition_validity.CHECK,  # C06
)
