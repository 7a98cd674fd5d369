"""Checks of guests: how a guest's own kernel is set up."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
