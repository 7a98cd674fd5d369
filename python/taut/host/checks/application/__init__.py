"""The checks of group A of the catalogue, in its order."""

from taut.host.check import HostCheck

CHECKS: tuple[HostCheck, ...] = ()
