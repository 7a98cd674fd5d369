"""Checks of firmware: what it does behind the kernel's back."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
