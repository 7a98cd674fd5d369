"""Checks of memory: huge pages, swap, and who moves pages around."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
