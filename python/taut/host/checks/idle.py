"""Checks of idle states: how deep a core may sleep."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
