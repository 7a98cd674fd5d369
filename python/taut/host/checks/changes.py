"""Checks of changes of the host while it serves: tracing left on, modules, cores and cpusets."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
