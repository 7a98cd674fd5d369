"""Checks of watchdogs, logs and error counters that interrupt every core."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
