"""What every kind of placement must say of itself."""

import pytest

from taut.testbed.placement import PlacementKind
from taut.testbed.placements import PLACEMENTS
from taut.testing import placements


@pytest.mark.parametrize("kind", PLACEMENTS.values(), ids=PLACEMENTS.keys())
def test_a_placement_describes_itself_and_refuses_other_options(kind: PlacementKind) -> None:
    placements.conforms(kind)
