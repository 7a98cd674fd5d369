"""The checks of group R of the catalogue, in its order."""

from taut.host.check import HostCheck
from taut.host.checks.runtime import vm_stat_interval

CHECKS: tuple[HostCheck, ...] = (
    vm_stat_interval.CHECK,  # R06
)
