"""Checks of what the polling program does to itself: mappings, timers, quotas, instructions."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
