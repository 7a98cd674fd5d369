"""HW15: whether unmapping memory on one core interrupts the others."""

from taut.host.check import Check, Finding, Severity, passed, unknown
from taut.host.checks.hardware._shape import is_guest
from taut.host.host import Host
from taut.host.situation import Situation

_WANTED = "nothing: it decides how much A05 matters"
_SINCE = (6, 15)
"""The kernel that began to use AMD's INVLPGB."""
_FAMILY = 0x19
"""Zen 3, the first to have it."""


class _TlbBroadcast(Check):
    id = "HW15"
    title = "TLB flush without interrupts"
    severity = Severity.NOTE
    why = (
        "where the processor cannot flush other cores' TLBs by itself, every munmap of a process "
        "interrupts all cores it runs on: 1 to 15 µs (A05)"
    )
    source = "Linux commit 82378c6c2f43 (INVLPGB, 2025); measured on the development machine"

    def inspect(self, host: Host, situation: Situation) -> Finding:  # noqa: ARG002
        """Say what this processor and kernel do."""
        machine = situation.machine
        if machine.vendor == "arm":
            return passed("ARM: TLBI reaches all cores without interrupts", _WANTED)
        if machine.vendor == "other":
            return unknown("processor not recognised", "a readable /proc/cpuinfo", _WANTED)
        if machine.vendor == "intel":
            pv = " (a preempted vCPU later, with PV TLB flush)" if is_guest(situation) else ""
            return passed(f"Intel: flushes interrupt the other cores{pv}", _WANTED)
        if "invlpgb" in machine.flags:
            return passed("AMD with INVLPGB: long-lived processes need no interrupts", _WANTED)
        if machine.kernel < _SINCE or machine.family < _FAMILY:
            return passed("AMD without INVLPGB: flushes interrupt the other cores", _WANTED)
        # The kernel uses it and does not list it among the flags.
        needs = "as root: cpuid -1 -l 0x80000008, EBX bit 3 (INVLPGB)"
        return unknown("AMD: /proc/cpuinfo does not tell of INVLPGB", needs, _WANTED)


CHECK = _TlbBroadcast()
