"""Checks of who sends interrupts to poll cores, and who handles them."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
