"""What every driver does: starts, lives, forwards, stops, leaves nothing, and notices death."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from dut_frames import LAST_CORE, frames_through
from taut.dut.driver import DutDriver
from taut.dut.drivers import DRIVERS
from taut.testbed import cleanup, netlink
from taut.testbed.links import LINKS
from taut.testbed.scope import RunScope
from waiting import wait_for

pytestmark = pytest.mark.alone
COMMAND = {"argv": ["sh", "-c", "echo ready for {port0} and {port1}; exec sleep 1000"]}
OPTIONS: dict[str, dict[str, Any]] = {"command": {**COMMAND, "ready": "^ready"}}
# It waits 9 s for links that come up with a generator alone; its start over veth does not.
SLOW = ("l2fwd", "memif")
# What comes out of a router is another frame, and of a frame that is not IP nothing does.
CHANGE_FRAMES = {"linux_router", "linux_firewall"}
CASES = [
    (driver.name, link)
    for driver in DRIVERS.values()
    for link in driver.link_kinds
    if link != "pci"
]


def _ready_or_skip(driver: DutDriver, link: str) -> Any:
    options = driver.options_type(**OPTIONS.get(driver.name, {}))
    for reason in (driver.missing(options), LINKS[link].missing()):
        if reason is not None:
            pytest.skip(reason)
    return options


@pytest.mark.parametrize(
    ("name", "link"),
    [pytest.param(*case, marks=[pytest.mark.long] if case == SLOW else []) for case in CASES],
)
def test_a_driver_starts_lives_stops_and_leaves_nothing(
    name: str, link: str, scope: RunScope, tmp_path: Path
) -> None:
    driver = DRIVERS[name]
    options = _ready_or_skip(driver, link)
    scope.add_hugepages(driver.hugepages(options))

    with (
        LINKS[link].open(scope, driver.n_links) as links,
        driver.running(links, LAST_CORE, options, tmp_path / "logs", scope) as dut,
    ):
        assert dut.alive()
        assert dut.path
        stats = dut.stop()
        assert dut.stop() == stats
        assert all(log.is_file() for log in dut.logs)

    assert cleanup.run_processes(scope.id) == []
    assert not [ns for ns in netlink.namespaces() if scope.id in ns]


@pytest.mark.parametrize(
    ("name", "link"),
    # Links in shared memory have no socket: the generator is their only peer.
    [
        (name, link)
        for name, link in CASES
        if name not in {"loopback", "command", *CHANGE_FRAMES} and link not in {"memif", "virtio"}
    ],
)
def test_a_device_passes_frames_unchanged(
    name: str, link: str, scope: RunScope, tmp_path: Path
) -> None:
    driver = DRIVERS[name]
    options = _ready_or_skip(driver, link)
    scope.add_hugepages(driver.hugepages(options))

    with (
        LINKS[link].open(scope, 2) as links,
        driver.running(links, LAST_CORE, options, tmp_path / "logs", scope),
    ):
        assert frames_through(links) == 20


@pytest.mark.parametrize("name", ["taut_forward", "chain", "testpmd", "command"])
def test_a_device_that_dies_is_noticed(name: str, scope: RunScope, tmp_path: Path) -> None:
    driver = DRIVERS[name]
    options = _ready_or_skip(driver, "memif")
    scope.add_hugepages(driver.hugepages(options))

    with (
        LINKS["memif"].open(scope, 2) as links,
        driver.running(links, LAST_CORE, options, tmp_path / "logs", scope) as dut,
    ):
        os.kill(dut.pid, signal.SIGKILL)

        wait_for("its end", lambda: not dut.alive())
        assert dut.stop() is None
        assert "killed by SIGKILL" in dut.log_tail()[-1]


@pytest.mark.parametrize("driver", DRIVERS.values(), ids=DRIVERS.keys())
def test_a_driver_describes_itself(driver: DutDriver) -> None:
    assert driver.summary
    assert driver.link_kinds
    assert driver.version()
    assert set(driver.link_kinds) <= set(LINKS)
    assert driver.options_type.__doc__
    assert all(field.description for field in driver.options_type.model_fields.values())


@pytest.mark.parametrize("driver", DRIVERS.values(), ids=DRIVERS.keys())
def test_an_unknown_option_is_refused_and_options_do_not_change(driver: DutDriver) -> None:
    given = OPTIONS.get(driver.name, {})
    with pytest.raises(ValidationError, match="bursts"):
        driver.options_type(**given, bursts=1)

    options = driver.options_type(**given)
    for name in driver.options_type.model_fields:
        with pytest.raises(ValidationError, match="frozen"):
            setattr(options, name, 1)
