"""Checks of work the kernel queues: on which cores it is done."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
