"""Checks of KVM hosts: parameters of its modules, and what makes guests exit."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
