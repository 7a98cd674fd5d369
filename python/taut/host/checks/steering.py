"""Checks of received packets on their way to sockets: which cores, and who polls."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
