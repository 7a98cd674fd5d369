"""Checks of neighbours: other programs on poll cores and in their caches."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
