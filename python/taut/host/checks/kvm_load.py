"""Checks of KVM hosts: how often guests exit, and what else runs on their cores."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
