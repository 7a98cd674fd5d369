"""Checks of the kernel's own threads: where they run, and how strong they are."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
