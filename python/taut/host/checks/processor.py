"""Checks of the processor: siblings, nodes, mitigations and how it flushes its TLB."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
