"""The checks of group HW of the catalogue, in its order."""

from taut.host.check import HostCheck
from taut.host.checks.hardware import (
    clocksource,
    firmware_daemons,
    invariant_tsc,
    legacy_usb,
    mitigations,
    numa_locality,
    patrol_scrub,
    pcie_aspm,
    power_profile,
    smi_rate,
    smt_siblings,
    thermal_throttle,
    tlb_broadcast,
    turbo,
    uncore_frequency,
)

CHECKS: tuple[HostCheck, ...] = (
    invariant_tsc.CHECK,  # HW01
    clocksource.CHECK,  # HW02
    smt_siblings.CHECK,  # HW03
    smi_rate.CHECK,  # HW04
    firmware_daemons.CHECK,  # HW05
    power_profile.CHECK,  # HW06
    legacy_usb.CHECK,  # HW07
    patrol_scrub.CHECK,  # HW08
    turbo.CHECK,  # HW09
    uncore_frequency.CHECK,  # HW10
    numa_locality.CHECK,  # HW11
    pcie_aspm.CHECK,  # HW12
    thermal_throttle.CHECK,  # HW13
    mitigations.CHECK,  # HW14
    tlb_broadcast.CHECK,  # HW15
)
