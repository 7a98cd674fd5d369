"""The checks of group A of the catalogue, in its order."""

from taut.host.check import HostCheck
from taut.host.checks.application import (
    context_switches,
    cpu_quota,
    cpu_timers,
    file_mappings,
    membarrier,
    page_faults,
    system_calls,
    thread_pinning,
    tlb_shootdowns,
    wide_vectors,
)

CHECKS: tuple[HostCheck, ...] = (
    page_faults.CHECK,  # A01
    thread_pinning.CHECK,  # A02
    context_switches.CHECK,  # A03
    system_calls.CHECK,  # A04
    tlb_shootdowns.CHECK,  # A05
    membarrier.CHECK,  # A06
    file_mappings.CHECK,  # A07
    cpu_timers.CHECK,  # A08
    cpu_quota.CHECK,  # A09
    wide_vectors.CHECK,  # A10
)
