"""The checks of group K of the catalogue, in its order."""

from taut.host.check import HostCheck

CHECKS: tuple[HostCheck, ...] = ()
