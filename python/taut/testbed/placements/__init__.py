"""The placements: one file each, this table names them all; plug-ins stand beside."""

from taut.core.plugins import Family, NamedTable
from taut.testbed.placement import PlacementKind
from taut.testbed.placements.bare import BarePlacement
from taut.testbed.placements.container import ContainerPlacement
from taut.testbed.placements.vm import VmPlacement

_OURS: tuple[PlacementKind, ...] = (
    BarePlacement(),
    ContainerPlacement(),
    VmPlacement(),
)

PLACEMENTS: NamedTable[PlacementKind] = NamedTable(
    Family("taut.placements", PlacementKind, _OURS, lambda kind: kind.name)
)
