"""Checks of containers: what a program inside one can rely on."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
