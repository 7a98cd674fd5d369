"""The checks of group C of the catalogue, in its order."""

from taut.host.check import HostCheck

CHECKS: tuple[HostCheck, ...] = ()
