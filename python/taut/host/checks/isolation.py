"""Checks of isolation at boot: what the kernel was built for, told and made of it."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
