"""Checks of the threads that poll: cores, faults, switches and system calls."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
