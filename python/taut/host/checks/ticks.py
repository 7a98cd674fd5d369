"""Checks of the timer tick, and timers of other cores."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
