"""Checks of real-time pollers: what the kernel keeps for others."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
