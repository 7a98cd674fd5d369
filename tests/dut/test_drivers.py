"""What every driver does: starts, lives, forwards, stops, leaves nothing, and notices death."""

from pathlib import Path
from typing import Any

import pytest

from taut.dut.driver import DriverOptions, DutDriver
from taut.dut.drivers import DRIVERS
from taut.testbed.links import LINKS
from taut.testbed.placements import PLACEMENTS
from taut.testbed.placements.bare import BareOptions
from taut.testing import devices

pytestmark = pytest.mark.alone
COMMAND = {"argv": ["sh", "-c", "echo ready for {port0} and {port1}; exec sleep 1000"]}
OPTIONS: dict[str, dict[str, Any]] = {"command": {**COMMAND, "ready": "^ready"}}
# What comes out of a router is another frame, and of a frame that is not IP nothing does.
CHANGE_FRAMES = {"linux_router", "linux_firewall"}
# On the host itself: of a link for guests alone it has one end.
BARE = PLACEMENTS["bare"]
CASES = [
    (driver.name, link)
    for driver in DRIVERS.values()
    for link in driver.link_kinds
    if link != "pci" and BARE.refuses(driver.name, link, BareOptions()) is None
]


def _ready_or_skip(driver: DutDriver, link: str) -> DriverOptions:
    options = driver.options_type(**OPTIONS.get(driver.name, {}))
    if reason := devices.lacks(driver, link, options):
        pytest.skip(reason)
    return options


@pytest.mark.parametrize(("name", "link"), CASES)
def test_a_driver_starts_lives_stops_and_leaves_nothing(
    name: str, link: str, tmp_path: Path
) -> None:
    driver = DRIVERS[name]

    devices.lives_and_leaves_nothing(driver, link, tmp_path, _ready_or_skip(driver, link))


@pytest.mark.parametrize(
    ("name", "link"),
    # Links in shared memory have no socket: the generator is their only peer.
    [
        (name, link)
        for name, link in CASES
        if name not in {"loopback", "command", *CHANGE_FRAMES} and LINKS[link].crosses_kernel
    ],
)
def test_a_device_passes_frames_unchanged(name: str, link: str, tmp_path: Path) -> None:
    driver = DRIVERS[name]

    devices.passes_frames_unchanged(driver, link, tmp_path, _ready_or_skip(driver, link))


@pytest.mark.parametrize("name", ["taut_forward", "chain", "testpmd", "command", "ovs_dpdk"])
def test_a_device_that_dies_is_noticed(name: str, tmp_path: Path) -> None:
    driver = DRIVERS[name]

    devices.notices_its_death(driver, "memif", tmp_path, _ready_or_skip(driver, "memif"))


@pytest.mark.parametrize("driver", DRIVERS.values(), ids=DRIVERS.keys())
def test_a_driver_describes_itself(driver: DutDriver) -> None:
    devices.describes_itself(driver)


@pytest.mark.parametrize("driver", DRIVERS.values(), ids=DRIVERS.keys())
def test_an_unknown_option_is_refused_and_options_do_not_change(driver: DutDriver) -> None:
    devices.refuses_unknown_options(driver, OPTIONS.get(driver.name, {}))
