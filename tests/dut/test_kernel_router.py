"""A router's files as lines of `ip`: ports by name, and only what differs from what `ip` has."""

from pathlib import Path

import pytest

from taut.dut import kernel_router
from taut.dut.kernel_router import RoutingOptions, ip_commands, missing_for_routing, read_plan

PORTS = ("d0", "d1")


def commands(folder: Path, **texts: str) -> list[str]:
    """What `ip` is told of files with these texts."""
    for name, text in texts.items():
        (folder / name).write_text(text)
    options = RoutingOptions(**{name: str(folder / name) for name in texts})
    return list(ip_commands(PORTS, read_plan(options)))


def test_without_files_the_two_stations_are_known() -> None:
    assert list(ip_commands(PORTS, read_plan(RoutingOptions()))) == [
        "link set dev lo up",
        "link set dev d0 address 02:74:00:00:00:02 arp on",
        "link set dev d1 address 02:74:00:00:00:01 arp on",
        "neigh replace 198.18.0.1 dev d0 lladdr 02:74:00:00:00:01 nud permanent",
        "neigh replace 198.18.0.2 dev d1 lladdr 02:74:00:00:00:02 nud permanent",
        "route replace 198.18.0.1/32 dev d0",
        "route replace 198.18.0.2/32 dev d1",
    ]


def test_routes_name_links_and_those_with_a_gateway_come_last(tmp_path: Path) -> None:
    routes = """
# a comment
10.0.0.0/8 via 192.0.2.1 dev 1 metric 5 # another
default via 2001:db8::1 onlink dev 0
default via 192.0.2.1
blackhole 10.1.0.0/16 dev lo metric 7
unicast 192.0.2.0/24 dev 1 proto static
fe80::/64 dev 0
"""

    assert commands(tmp_path, routes=routes)[3:] == [
        "route replace blackhole 10.1.0.0/16 metric 7",
        "route replace 192.0.2.0/24 dev d1 proto static",
        "route replace 10.0.0.0/8 via 192.0.2.1 dev d1 metric 5 onlink",
        "route replace ::/0 via 2001:db8::1 dev d0 onlink",
        "route replace 0.0.0.0/0 via 192.0.2.1",
    ]


def test_addresses_bring_their_networks_and_mac_addresses(tmp_path: Path) -> None:
    said = commands(
        tmp_path,
        routes="198.51.100.0/24 dev 0\n",
        neighbours="192.0.2.1 lladdr 02:00:00:00:00:09 dev 1 STALE\n",
        addresses="192.0.2.254/24 dev 1\n2001:db8::ff/64 dev 1\ndev 1 address 02:00:00:00:0a:01\n",
    )

    assert said == [
        "link set dev lo up",
        "link set dev d0 address 02:74:00:00:00:02 arp on",
        "link set dev d1 address 02:00:00:00:0a:01 arp on",
        "address replace 192.0.2.254/24 dev d1",
        "address replace 2001:db8::ff/64 dev d1 nodad",
        "neigh replace 192.0.2.1 dev d1 lladdr 02:00:00:00:00:09 nud permanent",
        "route replace 198.51.100.0/24 dev d0",
    ]


def test_a_route_for_a_network_of_a_port_is_told_to_the_kernel(tmp_path: Path) -> None:
    """As it does with any other, the kernel takes the one that its metric lets count."""
    said = commands(
        tmp_path,
        routes="192.0.2.0/24 dev 1 proto kernel scope link\nprohibit 2001:db8::/64 metric 100\n",
        addresses="192.0.2.254/24 dev 1\n2001:db8::ff/64 dev 1\n",
    )

    assert said[-2:] == [
        "route replace 192.0.2.0/24 dev d1 proto kernel scope link",
        "route replace prohibit 2001:db8::/64 metric 100",
    ]


def test_ipv6_is_needed_only_where_a_line_is_about_it(tmp_path: Path) -> None:
    def has_ipv6(**texts: str) -> bool:
        commands(tmp_path, **texts)
        return read_plan(RoutingOptions(**{n: str(tmp_path / n) for n in texts})).has_ipv6

    assert not has_ipv6(neighbours="192.0.2.1 dev 1 lladdr 02:00:00:00:00:09\n")
    assert not has_ipv6(addresses="dev 1 address 02:00:00:00:0a:01\n")
    assert has_ipv6(addresses="2001:db8::ff/64 dev 1\n")
    assert has_ipv6(routes="default via 2001:db8::1 dev 0\n")
    assert has_ipv6(routes="blackhole 2001:db8::/32\n")


def test_ipv6_that_is_switched_off_is_told_where_a_line_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ipv4").mkdir()
    monkeypatch.setattr(kernel_router, "_SETTINGS", tmp_path)
    monkeypatch.setattr(kernel_router, "needs_root", lambda _: None)
    monkeypatch.setattr(kernel_router, "find_binary_or_none", lambda name: Path("/bin", name))
    monkeypatch.setattr(kernel_router, "memory_of", lambda _: (0, None))
    monkeypatch.setattr(kernel_router.shutil, "which", lambda name: f"/bin/{name}")

    def lacks(routes: str) -> str | None:
        (tmp_path / "routes").write_text(routes)
        return missing_for_routing(RoutingOptions(routes=str(tmp_path / "routes")))

    assert lacks("default via 192.0.2.1 dev 0\n") is None
    assert lacks("default via 2001:db8::1 dev 0\n") == (
        "this kernel has IPv6 switched off (ipv6.disable=1); boot without it, or leave the IPv6"
        " lines out"
    )
    (tmp_path / "ipv6" / "conf").mkdir(parents=True)
    assert lacks("default via 2001:db8::1 dev 0\n") is None


def test_its_files_are_seen_from_the_folder_of_the_experiment() -> None:
    given = {"routes": "lab/routes", "neighbours": "/etc/n", "placement": "rps"}

    seen = RoutingOptions.seen_from(Path("/x"), given)

    assert seen == {"routes": "/x/lab/routes", "neighbours": "/etc/n", "placement": "rps"}
    assert RoutingOptions(**seen).files == (Path("/x/lab/routes"), Path("/etc/n"))
