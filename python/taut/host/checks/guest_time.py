"""Checks of guests: time that is taken from a guest, and what it cannot see."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
