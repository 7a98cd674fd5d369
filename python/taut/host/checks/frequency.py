"""Checks of frequencies of cores and caches, and who chooses them."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
