"""Checks of network devices: their links, queues, interrupts and address translation."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
