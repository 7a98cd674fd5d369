"""docs/placements.md says which devices a container takes."""

import re
from pathlib import Path

from taut.dut.drivers import DRIVERS
from taut.testbed.placements.container import ContainerPlacement

PAGE = (Path(__file__).parents[2] / "docs" / "placements.md").read_text()


def test_it_names_the_devices_that_a_container_takes_and_those_that_it_does_not() -> None:
    refused = {
        name: driver.options_type.example().refuses_placement(ContainerPlacement.name)
        for name, driver in DRIVERS.items()
        if driver.n_links > 0
    }
    [takes] = re.findall(r"^\| `container` \|[^|]*\| (.*?), over ", PAGE, re.MULTILINE)
    [takes_not] = re.findall(r"What is the kernel itself .* they are refused in one line", PAGE)

    assert named(takes) == {name for name, why in refused.items() if why is None}
    assert named(takes_not) == {name for name, why in refused.items() if why is not None}


def named(text: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", text))
