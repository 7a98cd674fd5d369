"""taut-forward's router, held to a naive search and to the kernel's router, packet by packet."""

import ipaddress
import random
import struct
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from router_lab import (
    N_GATEWAYS,
    SOURCES,
    Address,
    Links,
    Plan,
    exchange,
    gateway,
    gateway_mac,
    is_sum_right,
    kernel_router,
    packet,
    taut_router,
)
from taut.testbed.links import LINKS
from taut.testbed.scope import RunScope

pytestmark = [
    pytest.mark.root,
    pytest.mark.beside,
]
BITS = {4: 32, 6: 128}
MARK_TO = {4: ipaddress.ip_address("198.51.100.1"), 6: ipaddress.ip_address("2001:db8:2::1")}
BLACKHOLE = N_GATEWAYS  # as a next hop

Table = dict[tuple[int, int], int]
"""(first bits, how many) -> the number of the gateway."""


@pytest.fixture
def links(scope: RunScope) -> Iterator[Links]:
    with LINKS["veth"].open(scope, 2) as links:
        yield links


def address(family: int, value: int) -> Address:
    return ipaddress.IPv4Address(value) if family == 4 else ipaddress.IPv6Address(value)


def tables(family: int) -> st.SearchStrategy[Table]:
    """Give tables with a route of every length, nested, and others beside them."""
    bits = BITS[family]
    # No address of this network, loopback, or a group; nor one of the networks of the ports.
    first = st.integers(1, 126) if family == 4 else st.integers(0x24, 0xFB)
    bases = st.tuples(first, st.integers(0, (1 << (bits - 8)) - 1)).map(
        lambda parts: parts[0] << (bits - 8) | parts[1]
    )
    hops = st.lists(st.integers(0, BLACKHOLE), min_size=bits + 1, max_size=bits + 1)
    chains = st.lists(st.tuples(bases, hops), min_size=1, max_size=3)
    return chains.map(lambda chains: _nested(bits, chains))


def _nested(bits: int, chains: Sequence[tuple[int, list[int]]]) -> Table:
    table: Table = {}
    for number, (base, hops) in enumerate(chains):
        # The first chain has every length; the others leave gaps.
        for length in range(0, bits + 1, number + 1):
            table[base >> (bits - length), length] = hops[length]
    return table


def found(family: int, table: Table, to: int) -> int | None:
    """Search as naively as can be; None: there is no route."""
    bits = BITS[family]
    lengths = [length for prefix, length in table if to >> (bits - length) == prefix]
    return table[to >> (bits - max(lengths)), max(lengths)] if lengths else None


def edges(family: int, table: Table) -> list[int]:
    """Give the addresses where a search may go wrong: the ends of prefixes, and next to them."""
    bits = BITS[family]
    chosen = set()
    for prefix, length in table:
        low = prefix << (bits - length)
        high = low + (1 << (bits - length)) - 1
        chosen |= {low, high, low - 1, high + 1, (low + high) // 2}
    return sorted(to for to in chosen if 0 <= to < 1 << bits and may_be_routed(family, to))


def may_be_routed(family: int, to: int) -> bool:
    where = address(family, to)
    if family == 4:
        of_ports = any(
            where in ipaddress.ip_network(n) for n in ("192.0.2.0/24", "198.51.100.0/24")
        )
        return 1 <= to >> 24 < 224 and to >> 24 != 127 and not of_ports
    unusable = where.is_multicast or where.is_link_local or to <= 1
    return not unusable and where not in ipaddress.ip_network("2001:db8::/32")


def lines(family: int, table: Table) -> Iterator[str]:
    bits = BITS[family]
    for (prefix, length), hop in table.items():
        name = f"{address(family, prefix << (bits - length))}/{length}"
        if hop == BLACKHOLE:
            yield f"blackhole {name}"
        else:
            yield f"{name} via {gateway(family, hop)} dev 1"


@pytest.mark.parametrize("family", [4, 6])
def test_the_longest_prefix_is_found_for_every_length(
    family: int, links: Links, scope: RunScope, tmp_path: Path
) -> None:
    runs = count()

    @settings(
        max_examples=6,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(tables(family))
    def holds(table: Table) -> None:
        targets = edges(family, table)
        frames = [packet(address(family, to), number) for number, to in enumerate(targets)]
        plan = Plan(tuple(lines(family, table)))
        with taut_router(links, plan, scope, tmp_path / str(next(runs)), ",errors=0") as counters:
            came = exchange(links, frames, MARK_TO[family])
            counted = counters()

        for number, to in enumerate(targets):
            hop = found(family, table, to)
            wanted = None if hop in {None, BLACKHOLE} else (1, gateway_mac(int(hop or 0)))
            got = (came[number][0], came[number][1][:6]) if number in came else None
            assert got == wanted, f"{address(family, to)}: {got}, {wanted} wanted"
        assert_all_counted(counted)

    holds()


def assert_all_counted(counted: dict[str, Any]) -> None:
    lost = sum(counted["not_forwarded"].values())
    answered = counted["icmp_errors"]["sent"]
    assert counted["in"] == counted["forwarded"] + lost
    assert counted["dropped"] == lost - answered


def sample(family: int) -> tuple[Plan, list[bytes]]:
    """Make routes of every kind that the kernel has, and packets to them and beside them."""
    rng = random.Random(family)
    bits = BITS[family]
    top = 0x0A000000 if family == 4 else 0x20010DB8_000A << 80
    free = 24 if family == 4 else 80
    routes, targets = [], [top]
    for number in range(120):
        length = rng.randrange(bits - free, bits + 1)
        prefix = (top | rng.getrandbits(free)) >> (bits - length) << (bits - length)
        name = f"{address(family, prefix)}/{length}"
        kind = rng.choice(["", "", "", "", "blackhole", "unreachable", "prohibit"])
        via = "" if kind else f" via {gateway(family, number % N_GATEWAYS)} dev 1"
        routes.append(f"{kind} {name}{via}".strip())
        targets += [prefix, prefix + (1 << (bits - length)) - 1, top | rng.getrandbits(free)]
    # Each prefix once, and one that leads back to where the packets came from. Each has a source of
    # its own: Linux answers one source but five times and then once a second (route/error_cost).
    back = "198.18.0.0/15" if family == 4 else "2001:db8:c::/48"
    unique = {route.split(" via")[0].split()[-1]: route for route in routes}
    unique[back] = f"{back} via {SOURCES[family]} dev 0"
    targets.append(int(ipaddress.ip_network(back)[7]))
    ttls = [64, 1, 2, 255, 0]
    frames = [
        packet(
            address(family, to),
            number,
            ttls[number % len(ttls)],
            ipaddress.ip_network(back)[number + 1],
        )
        for number, to in enumerate(targets)
    ]
    return Plan(tuple(unique.values())), frames


def made_comparable(family: int, came: tuple[int, bytes]) -> tuple[int, bytes]:
    """Take away what an ICMP error of the router's own may have as it likes."""
    port, frame = came
    if family == 4 and frame[23] == 1:
        assert is_sum_right(frame)
        # Identification, the fragment's flags and the sum over them.
        return port, frame[:18] + bytes(4) + frame[22:24] + bytes(2) + frame[26:]
    # IPv6: the flow label, which Linux makes of the packet's.
    return (port, frame) if family == 4 or frame[20] != 58 else (port, frame[:15] + frame[18:])


@pytest.mark.parametrize("family", [4, 6])
def test_the_kernels_router_does_the_same(family: int, tmp_path: Path) -> None:
    plan, frames = sample(family)
    with RunScope(tmp_path / "taut") as scope, LINKS["veth"].open(scope, 2) as links:
        rate = ",errors=1000000"
        with taut_router(links, plan, scope, tmp_path / "run", rate) as counters:
            ours = exchange(links, frames, MARK_TO[family])
            counted = counters()
    with (
        RunScope(tmp_path / "kernel") as scope,
        LINKS["veth"].open(scope, 2) as links,
        kernel_router(links, plan, scope, tmp_path / "kernel_run"),
    ):
        kernels = exchange(links, frames, MARK_TO[family])

    assert_all_counted(counted)
    assert counted["forwarded"] > 50
    assert counted["icmp_errors"]["sent"] > 50
    for number, frame in enumerate(frames):
        our, kernel = (
            made_comparable(family, came[number]) if number in came else None
            for came in (ours, kernels)
        )
        assert our == kernel, f"{frame.hex()}: {our}, {kernel} by the kernel"


def test_a_burst_of_expired_packets_is_answered_in_part(
    links: Links, scope: RunScope, tmp_path: Path
) -> None:
    frames = [packet(MARK_TO[4], number, ttl=1) for number in range(100)]

    with taut_router(links, Plan(()), scope, tmp_path / "run", ",errors=1") as counters:
        came = exchange(links, frames, MARK_TO[4])
        counted = counters()

    errors = counted["icmp_errors"]
    assert_all_counted(counted)
    assert counted["not_forwarded"]["ttl_expired"] == 100
    assert errors["sent"] == len(came)
    # One a second, and fifty at once.
    assert 50 <= errors["sent"] < 100
    assert errors["over_rate"] == 100 - errors["sent"]
    assert {struct.unpack("!BB", frame[34:36]) for _, frame in came.values()} == {(11, 0)}
