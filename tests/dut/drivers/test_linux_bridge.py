from pathlib import Path

import pytest

from taut.dut.drivers.linux_bridge import LinuxBridgeDriver, LinuxBridgeOptions
from taut.host.situation import Waiting
from taut.testbed import netlink
from taut.testbed.links import LINKS
from taut.testbed.scope import RunScope
from taut.testing.frames import LAST_CORE, frames_through

pytestmark = pytest.mark.root


@pytest.mark.parametrize(
    ("placement", "words"),
    [("rps", "RPS to core"), ("threaded", "threaded NAPI, thread"), ("sender", "sender's softirq")],
)
def test_the_bridge_forwards_and_says_where_it_works(
    placement: str, words: str, scope: RunScope, tmp_path: Path
) -> None:
    options = LinuxBridgeOptions(placement=placement)

    with (
        LINKS["veth"].open(scope, 2) as links,
        LinuxBridgeDriver().running(links, LAST_CORE, options, tmp_path, scope) as dut,
    ):
        assert words in dut.notes[0]
        assert frames_through(links) == 20
        ports = dut.stop().ports

    assert ports[0].others["rx_packets"] == 20
    assert ports[1].others["tx_packets"] == 20
    # Nothing flooded back, nothing of the bridge's own.
    assert ports[0].others["tx_packets"] == 0


def test_its_packets_meet_no_netfilter(scope: RunScope, tmp_path: Path) -> None:
    """Where br_netfilter is loaded, as by Docker, bridges of a new namespace begin with it."""
    folder = Path("/proc/sys/net/bridge")
    if not folder.exists():
        pytest.skip("br_netfilter is not loaded")

    def calls() -> set[str]:
        return {path.read_text().strip() for path in folder.glob("bridge-nf-call-*")}

    with (
        LINKS["veth"].open(scope, 2) as links,
        LinuxBridgeDriver().running(links, LAST_CORE, LinuxBridgeOptions(), tmp_path, scope),
    ):
        assert netlink.inside(str(links[0].device_netns), calls) == {"0"}


@pytest.mark.parametrize("placement", ["rps", "threaded"])
def test_a_core_of_its_own_sleeps_until_a_packet_comes(placement: str) -> None:
    waits = LinuxBridgeDriver().waits(LinuxBridgeOptions(placement=placement))

    assert waits is Waiting.SLEEPS


def test_the_sender_s_softirq_wakes_nobody() -> None:
    options = LinuxBridgeOptions(placement="sender")

    assert LinuxBridgeDriver().waits(options) is Waiting.POLLS
