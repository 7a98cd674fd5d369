"""Checks of clocks: the time stamp counter, the clock source and those who discipline the clock."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
