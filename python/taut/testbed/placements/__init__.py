"""The placements: one file each, this table names them all."""

from taut.testbed.placement import PlacementKind
from taut.testbed.placements.bare import BarePlacement
from taut.testbed.placements.container import ContainerPlacement
from taut.testbed.placements.vm import VmPlacement

PLACEMENTS: dict[str, PlacementKind] = {
    kind.name: kind
    for kind in (
        BarePlacement(),
        ContainerPlacement(),
        VmPlacement(),
    )
}
