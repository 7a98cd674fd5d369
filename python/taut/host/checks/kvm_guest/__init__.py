"""The checks of group G of the catalogue, in its order."""

from taut.host.check import HostCheck
from taut.host.checks.kvm_guest import (
    guest_idle,
    guest_isolation,
    hidden_from_guests,
    memory_returned,
    nested,
    paravirtual_features,
    steal_time,
    unexplained_gaps,
)

CHECKS: tuple[HostCheck, ...] = (
    steal_time.CHECK,  # G01
    unexplained_gaps.CHECK,  # G02
    paravirtual_features.CHECK,  # G03
    guest_isolation.CHECK,  # G04
    guest_idle.CHECK,  # G05
    memory_returned.CHECK,  # G06
    nested.CHECK,  # G07
    hidden_from_guests.CHECK,  # G08
)
