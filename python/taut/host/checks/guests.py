"""Checks of KVM hosts: where the guests' threads and memory are."""

from taut.host.table import Check

CHECKS: tuple[Check, ...] = ()
