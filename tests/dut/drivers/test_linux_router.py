import struct
import subprocess
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from forwarding import generate
from router_lab import Plan, exchange, packet, router_files
from taut.core.cpus import cpuset_cores
from taut.core.errors import TrialError
from taut.dut.drivers.linux_router import LinuxRouterDriver, LinuxRouterOptions
from taut.dut.kernel_router import Plan as RoutingPlan
from taut.dut.kernel_router import route_between, stop_routing
from taut.host.situation import Waiting
from taut.testbed import netlink
from taut.testbed.links import LINKS
from taut.testbed.scope import RunScope
from taut.testing.frames import LAST_CORE

pytestmark = pytest.mark.root

GENERATOR_CORE = cpuset_cores()[0]
"""Not the device's: what polls there keeps the kernel from it, and RPS has nowhere to steer to."""


@pytest.mark.skipif(len(cpuset_cores()) < 2, reason="needs two cores")
@pytest.mark.parametrize("placement", ["rps", "threaded", "sender"])
def test_the_generator_s_packets_are_routed_without_any_file(
    placement: str, scope: RunScope, tmp_path: Path
) -> None:
    options = LinuxRouterOptions(placement=placement)

    with (
        LINKS["veth"].open(scope, 2) as links,
        LinuxRouterDriver().running(links, LAST_CORE, options, tmp_path, scope) as dut,
    ):
        ports = [link.generator_port for link in links]
        # Of each direction so few that they fit into a veth's ring of 256, however late its thread.
        arguments = [*ports, "--both", "--count", "200", "--core", str(GENERATOR_CORE)]
        both = netlink.inside(
            str(links[0].generator_netns), lambda: generate(tmp_path / "out", *arguments)
        )
        counted = dut.stop().others

    sent = both["counters"]["sent"]
    assert sent > 0
    assert both["counters"]["matched"] + both["counters"]["late"] == sent
    assert (counted["in"], counted["out"], counted["own"], counted["dropped"]) == (sent, sent, 0, 0)


def test_a_gateway_needs_no_address_of_the_router(scope: RunScope, tmp_path: Path) -> None:
    files = router_files(tmp_path, Plan(("10.0.0.0/8 via 198.51.100.1 dev 1",)))
    addresses = Path(files["addresses"])
    macs = [line for line in addresses.read_text().splitlines() if line.startswith("dev")]
    addresses.write_text("\n".join(macs))

    with (
        LINKS["veth"].open(scope, 2) as links,
        LinuxRouterDriver().running(links, LAST_CORE, LinuxRouterOptions(**files), tmp_path, scope),
    ):
        came = exchange(links, [packet(ip_address("10.0.0.9"), 0)], ip_address("10.0.0.1"))

    assert came[0][0] == 1


def lab(folder: Path, *routes: str) -> LinuxRouterOptions:
    """The router between the stations of router_lab, with these routes."""
    return LinuxRouterOptions(**router_files(folder, Plan(routes)))


def balance(counted: Mapping[str, Any]) -> tuple[int, int, int]:
    """What came in, what of it came out (IPv6 tells who listens to which groups), what did not."""
    return counted["in"], counted["out"] - counted["own"], counted["dropped"]


def test_what_does_not_come_out_is_told_by_its_reason(scope: RunScope, tmp_path: Path) -> None:
    def to(text: str, number: int, ttl: int = 64) -> bytes:
        return packet(ip_address(text), number, ttl)

    frames = [to("10.0.0.9", 0), to("10.0.0.9", 1, ttl=1), to("203.0.113.1", 2), to("10.1.0.9", 3)]
    options = lab(tmp_path, "10.0.0.0/8 via 198.51.100.1 dev 1", "blackhole 10.1.0.0/16")

    with (
        LINKS["veth"].open(scope, 2) as links,
        LinuxRouterDriver().running(links, LAST_CORE, options, tmp_path, scope) as dut,
    ):
        came = exchange(links, frames, ip_address("10.0.0.1"))
        counted = dut.stop().others

    # Another reason each, and the two that are answered go back; one more marks the end.
    assert came[0][0] == 1
    assert {number: struct.unpack("!BB", came[number][1][34:36]) for number in (1, 2)} == {
        1: (11, 0),
        2: (3, 0),
    }
    assert 3 not in came
    reasons = {name: n for name, n in counted["dropped_by"].items() if n}
    assert reasons == {"InHdrErrors": 1, "InNoRoutes": 1, "other": 1}
    assert balance(counted) == (5, 2, 3)
    assert counted["own"] >= 2


def known(namespace: str) -> list[str]:
    """What a router there has been told, and whether it forwards."""
    commands = ["-4 route", "-6 route", "-4 -o address", "-6 -o address", "neigh"]
    shown = [
        line.strip()
        for command in commands
        for line in subprocess.run(
            ["nsenter", f"--net={netlink.NETNS_FOLDER / namespace}", "ip", *command.split()],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
    ]
    return [*sorted(shown), "forwards" if forwards(namespace) else "stands still"]


def forwards(namespace: str) -> bool:
    path = Path("/proc/sys/net/ipv4/ip_forward")
    return netlink.inside(namespace, path.read_text) == "1\n"


def test_it_starts_again_where_it_was_stopped(scope: RunScope, tmp_path: Path) -> None:
    options = lab(
        tmp_path,
        "10.0.0.0/8 via 198.51.100.1 dev 1",
        "10.0.0.0/8 via 198.51.100.2 dev 1 metric 5",
        "blackhole 10.1.0.0/16",
        "2001:db8:a::/48 via 2001:db8:2::1 dev 1",
        "unreachable 2001:db8:b::/48",
    )
    found = []

    with LINKS["veth"].open(scope, 2) as links:
        namespace = str(links[0].device_netns)
        for _ in range(2):
            with LinuxRouterDriver().running(links, LAST_CORE, options, tmp_path, scope):
                found.append(known(namespace))
            assert not forwards(namespace)

    assert found[0] == found[1]
    assert found[0][-1] == "forwards"
    assert any(line.startswith("blackhole 10.1.0.0/16") for line in found[0])


def test_it_does_not_forward_before_it_has_read_everything(scope: RunScope) -> None:
    no_such_gateway = RoutingPlan([["10.0.0.0/8", "via", "203.0.113.9"]], [], [])

    with LINKS["veth"].open(scope, 2) as links:
        namespace = str(links[0].device_netns)
        stop_routing(namespace)
        with pytest.raises(TrialError, match=r"ip: route \w+ 10\.0\.0\.0/8 via 203"):
            route_between(namespace, [str(link.device_ifname) for link in links], no_such_gateway)

        assert not forwards(namespace)


def test_a_neighbour_that_no_line_has_is_not_asked_for(scope: RunScope, tmp_path: Path) -> None:
    options = lab(tmp_path, "10.0.0.0/8 via 198.51.100.1 dev 1")

    with (
        LINKS["veth"].open(scope, 2) as links,
        LinuxRouterDriver().running(links, LAST_CORE, options, tmp_path, scope) as dut,
    ):
        came = exchange(links, [packet(ip_address("198.51.100.77"), 0)], ip_address("10.0.0.1"))
        counted = dut.stop().others

    assert came == {}
    assert balance(counted) == (2, 1, 1)


def test_a_wrong_line_is_told_before_the_run(tmp_path: Path) -> None:
    driver, routes = LinuxRouterDriver(), tmp_path / "routes"
    routes.write_text("10.0.0.0/8 via 192.0.2.1 dev 1\n")

    options = LinuxRouterOptions(routes=str(routes))

    assert driver.missing(LinuxRouterOptions()) is None
    assert f"{routes}:1:12: via 192.0.2.1: no neighbour at that port" in str(
        driver.missing(options)
    )


def test_a_core_of_its_own_sleeps_until_a_packet_comes() -> None:
    driver = LinuxRouterDriver()

    assert driver.waits(LinuxRouterOptions()) is Waiting.SLEEPS
    assert driver.waits(LinuxRouterOptions(placement="sender")) is Waiting.POLLS
