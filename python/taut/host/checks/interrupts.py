"""Checks of interrupts of devices: where they are delivered."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
