"""An inline device between two veth links, with a rule that drops one flow of four."""

from pathlib import Path
from typing import Any

import pytest

from forwarding import generate
from taut.dut.driver import DutDriver
from taut.records.documents.trial import DutStats
from taut.testbed import netlink
from taut.testbed.links import LINKS
from taut.testbed.scope import RunScope
from taut.testing.frames import LAST_CORE

# The generator's flows are UDP source ports in turn, of which this is the first.
DROPS_THE_FIRST = 'drop udp any 1024 -> any any (msg:"the first flow"; sid:1; rev:1;)\n'


def skip_without(driver: DutDriver) -> None:
    """Skip a test where the program cannot run here."""
    reason = driver.missing(driver.options_type())
    if reason is not None:
        pytest.skip(reason)


def through(
    driver: DutDriver, options: Any, scope: RunScope, folder: Path
) -> tuple[dict[str, float], DutStats]:
    """Send four flows through; give the generator's counters and the device's."""
    with (
        LINKS["veth"].open(scope, 2) as links,
        driver.running(links, LAST_CORE, options, folder / "logs", scope) as dut,
    ):
        ports = [link.generator_port for link in links]
        summary = netlink.inside(
            str(links[0].generator_netns),
            lambda: generate(folder / "out", *ports, "--flows", "4", deadline="2s"),
        )
        counted = dut.stop()
    assert counted is not None
    return summary["counters"], counted


def assert_lost_is_dropped(counters: dict[str, float], counted: DutStats) -> None:
    """What the generator missed is what the device dropped.

    But for what had left the device when the machine took the generator's core until the socket was
    full: these packets are in `out`, and were not received.
    """
    out, dropped = (int(str(counted.others[key])) for key in ("out", "dropped"))
    never_came = counters["lost"] - counters["late"]
    assert never_came - dropped == out - counters["received"] >= 0
