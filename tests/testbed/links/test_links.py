"""What every kind of link does: the family's conformance test, and each member's own."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from taut.core.errors import InputError
from taut.host.checks.steering import CHECKS
from taut.testbed import netlink
from taut.testbed.link import LinkKind, name_in
from taut.testbed.links import LINKS
from taut.testbed.links.pci import addresses, nodes_of_cards
from taut.testbed.oci_bundle import KNOWN_CAPABILITIES
from taut.testbed.scope import RunScope

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")
MADE_HERE = [
    "memif",
    "virtio",
    "vhost",
    pytest.param("veth", marks=[pytest.mark.root, needs_root]),
    pytest.param("xdp", marks=[pytest.mark.root, needs_root]),
]


@pytest.fixture
def scope(tmp_path: Path) -> Iterator[RunScope]:
    with RunScope(tmp_path) as scope:
        yield scope


@pytest.mark.parametrize("name", MADE_HERE)
def test_links_are_two_named_ends_and_leave_nothing(name: str, scope: RunScope) -> None:
    kind = LINKS[name]

    with kind.open(scope, 2) as links:
        assert [link.kind for link in links] == [name, name]
        ports = [port for link in links for port in (link.generator_port, link.device_port)]
        assert len(set(ports)) == 4
        assert all(":" in port for port in ports)

    assert not [ns for ns in netlink.namespaces() if scope.id in ns]
    assert not list(scope.folder.glob("*.sock"))


@pytest.mark.parametrize("name", MADE_HERE)
def test_a_loopback_is_two_ports_in_one_namespace(name: str, scope: RunScope) -> None:
    with LINKS[name].open_loopback(scope) as loopback:
        assert loopback.tx_port != loopback.rx_port
        if loopback.netns is not None:
            assert loopback.netns in netlink.namespaces()


@pytest.mark.root
@needs_root
@pytest.mark.parametrize("name", ["veth", "xdp"])
def test_the_generators_rings_lie_between_a_kernel_queue_as_found_and_as_trimmed(
    name: str, scope: RunScope
) -> None:
    (queue,) = (check for check in CHECKS if check.id == "R33")
    with LINKS[name].open(scope, 2) as links:
        ports = [link.generator_port for link in links]
    with LINKS[name].open_loopback(scope) as loop:
        ports += [loop.tx_port, loop.rx_port]

    found = [re.fullmatch(r"veth:(\w+),framecnt=(\d+)", port) for port in ports]
    assert [name_in(port) for port in ports] == [each and each[1] for each in found]
    as_found = 1000
    trimmed = re.search(r"\d+", queue.wanted)
    assert trimmed is not None
    # Of two ports, each packet before the device or behind it.
    assert all(each and as_found < int(each[2]) <= int(trimmed[0]) / 4 for each in found)


def test_each_link_has_a_path_of_its_own_and_asks_for_rights_that_there_are() -> None:
    assert len({kind.path for kind in LINKS.values()}) == len(LINKS)
    for kind in LINKS.values():
        assert set(kind.capabilities or ()) <= KNOWN_CAPABILITIES


@pytest.mark.parametrize("kind", LINKS.values(), ids=LINKS.keys())
def test_an_unknown_option_is_refused(kind: LinkKind, scope: RunScope) -> None:
    said = f"link {kind.name}: unknown option 'speed'"
    with pytest.raises(InputError, match=said), kind.open(scope, 2, {"speed": 10}):
        pass
    with pytest.raises(InputError, match=said):
        kind.check(0, {"speed": 10})


@pytest.mark.parametrize("kind", LINKS.values(), ids=LINKS.keys())
def test_without_root_a_kernel_link_says_so(
    kind: LinkKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    missing = kind.missing()

    assert missing is None if kind.name in ("memif", "virtio", "vhost") else "root" in missing


def test_a_socket_path_that_no_socket_can_have_is_refused(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100)
    with (
        RunScope(deep) as scope,
        pytest.raises(InputError, match="longer than 107"),
        LINKS["memif"].open(scope, 1),
    ):
        pass


@pytest.mark.root
@needs_root
def test_veth_ends_are_up_silent_and_without_offloads(scope: RunScope) -> None:
    import subprocess

    with LINKS["veth"].open(scope, 1) as (link,):
        show = subprocess.run(
            ["nsenter", f"--net=/run/netns/{link.device_netns}", "ip", "link", "show"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert f"{link.device_ifname}@" in show
    assert "NOARP,UP,LOWER_UP" in show
    assert "mtu 1500" in show


def test_cards_have_the_node_that_all_ports_of_a_side_are_on(tmp_path: Path) -> None:
    nodes = {"0000:3b:00.0": 0, "0000:3b:00.1": 0, "0000:af:00.0": 1, "0000:af:00.1": -1}
    for address, node in nodes.items():
        (tmp_path / address).mkdir()
        (tmp_path / address / "numa_node").write_text(f"{node}\n")
    first, second, third, untold = nodes

    assert nodes_of_cards({"generator": [first, second], "device": [third]}, tmp_path) == {
        "generator": 0,
        "device": 1,
    }
    assert nodes_of_cards({"generator": [first, third], "device": [untold]}, tmp_path) == {}
    assert nodes_of_cards({"generator": ["gone"], "device": 1}, tmp_path) == {}


def test_pci_addresses_are_checked(tmp_path: Path) -> None:
    (tmp_path / "0000:3b:00.0").mkdir()
    options = {"generator": ["0000:3b:00.0"]}

    assert addresses(options, "generator", 1, tmp_path) == ["0000:3b:00.0"]
    with pytest.raises(InputError, match="device: 1 PCI addresses wanted"):
        addresses(options, "device", 1, tmp_path)
    with pytest.raises(InputError, match="'eth0' is no PCI address"):
        addresses({"device": ["eth0"]}, "device", 1, tmp_path)
    with pytest.raises(InputError, match="0000:3b:00\\.1: no such device"):
        addresses({"device": ["0000:3b:00.1"]}, "device", 1, tmp_path)
