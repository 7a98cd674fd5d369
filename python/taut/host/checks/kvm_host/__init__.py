"""The checks of group V of the catalogue, in its order."""

from taut.host.check import HostCheck

CHECKS: tuple[HostCheck, ...] = ()
