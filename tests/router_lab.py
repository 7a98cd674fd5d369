"""A router between two stations: frames sent by raw sockets, and what comes out on either side.

The router is taut's (`taut_router`) or the kernel of a namespace (`kernel_router`); both are told
the same routes, in the words of `ip route`.
"""

import ipaddress
import select
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from taut.dut.drivers.linux_router import LinuxRouterDriver, LinuxRouterOptions
from taut.dut.drivers.taut_forward import TautForwardDriver
from taut.dut.forwarder import TautForwardOptions
from taut.testbed import netlink
from taut.testbed.link import Link, name_in
from taut.testbed.scope import RunScope
from taut.testing.frames import LAST_CORE

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Links: TypeAlias = Sequence[Link]

ROUTER_MACS = ("02:00:00:00:0a:00", "02:00:00:00:0a:01")
ADDRESSES = (("192.0.2.254/24", "2001:db8:1::ff/64"), ("198.51.100.254/24", "2001:db8:2::ff/64"))
SOURCES = {4: ipaddress.ip_address("192.0.2.1"), 6: ipaddress.ip_address("2001:db8:1::1")}
GATEWAYS = {4: "198.51.100.{}", 6: "2001:db8:2::{:x}"}
N_GATEWAYS = 8
_MARK = (1 << 32) - 1
_ETHER_TYPES = {4: 0x0800, 6: 0x86DD}
_TIMEOUT_S = 60.0
_BATCH = 128  # fewer than any ring between holds


@dataclass(frozen=True)
class Plan:
    """What a router is told: lines as `ip route` and `ip neigh` have them, dev by number."""

    routes: tuple[str, ...]
    neighbours: tuple[str, ...] = field(default_factory=lambda: tuple(_stations()))


def gateway(family: int, number: int) -> str:
    """Name gateway 0 to N_GATEWAYS - 1, all of them behind port 1."""
    return GATEWAYS[family].format(number + 1)


def gateway_mac(number: int) -> bytes:
    """Give the MAC address of a gateway; of both families."""
    return bytes((2, 0, 0, 0, 1, number))


def _stations() -> Iterator[str]:
    for family in (4, 6):
        yield f"{SOURCES[family]} dev 0 lladdr 02:00:00:00:00:01"
        for number in range(N_GATEWAYS):
            mac = gateway_mac(number).hex(":")
            yield f"{gateway(family, number)} dev 1 lladdr {mac}"


def packet(to: Address, number: int, ttl: int = 64, source: Address | None = None) -> bytes:
    """Give a frame for port 0 whose last four bytes are its number."""
    source = source or SOURCES[to.version]
    payload = struct.pack("!HHHHHI", 4000, 9, 14, 0, 0, number)
    if to.version == 4:
        head = struct.pack("!BBHHHBBH", 0x45, 0, 34, number & 0xFFFF, 0, ttl, 17, 0)
        addresses = source.packed + to.packed
        total = _sum(head + addresses)
        head = head[:10] + struct.pack("!H", ~total & 0xFFFF) + addresses
    else:
        head = struct.pack("!IHBB", 6 << 28, len(payload), 17, ttl) + source.packed + to.packed
    macs = bytes.fromhex(ROUTER_MACS[0].replace(":", "")) + bytes((2, 0, 0, 0, 0, 1))
    return macs + struct.pack("!H", _ETHER_TYPES[to.version]) + head + payload


def _sum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def is_sum_right(frame: bytes) -> bool:
    """Say whether the checksum of an IPv4 header is."""
    return _sum(frame[14:34]) == 0xFFFF


def exchange(
    links: Links, frames: Sequence[bytes], mark_to: Address
) -> dict[int, tuple[int, bytes]]:
    """Send frames into port 0; give what came out, by its number: the port and the frame.

    `mark_to` is where a packet is surely forwarded to: when it is back, so are all before it.
    """
    return netlink.inside(str(links[0].generator_netns), lambda: _exchange(links, frames, mark_to))


def _exchange(
    links: Links, frames: Sequence[bytes], mark_to: Address
) -> dict[int, tuple[int, bytes]]:
    came: dict[int, tuple[int, bytes]] = {}
    sockets = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) for _ in links]
    for sock, link in zip(sockets, links, strict=True):
        sock.bind((name_in(link.generator_port), 3))
    try:
        for start in range(0, len(frames), _BATCH):
            for frame in [*frames[start : start + _BATCH], packet(mark_to, _MARK)]:
                sockets[0].send(frame)
            _collect(sockets, came)
            assert _MARK in came, "the router does not forward"
            del came[_MARK]
    finally:
        for sock in sockets:
            sock.close()
    return came


def _collect(sockets: Sequence[socket.socket], came: dict[int, tuple[int, bytes]]) -> None:
    while True:
        # What was sent before the mark, but on the other side, may stand behind it.
        ready, _, _ = select.select(sockets, [], [], 0 if _MARK in came else _TIMEOUT_S)
        if not ready:
            return
        for sock in ready:
            frame, address = sock.recvfrom(2048)
            # To groups the kernel speaks of itself: a report for ff02::2 would pass for number 2.
            if address[2] not in (socket.PACKET_OUTGOING, socket.PACKET_MULTICAST):
                came[struct.unpack("!I", frame[-4:])[0]] = (sockets.index(sock), frame)


def addresses_text() -> str:
    """Give the file of the ports' own addresses."""
    lines = [f"{text} dev {port}" for port, own in enumerate(ADDRESSES) for text in own]
    lines += [f"dev {port} address {mac}" for port, mac in enumerate(ROUTER_MACS)]
    return "\n".join(lines) + "\n"


def router_files(folder: Path, plan: Plan) -> dict[str, str]:
    """Write the files of a plan; give the path of each by the option that takes it."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "routes": "\n".join(plan.routes) + "\n",
        "neighbours": "\n".join(plan.neighbours) + "\n",
        "addresses": addresses_text(),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return {name: str(folder / name) for name in texts}


def router_option(folder: Path, plan: Plan, more: str = "") -> str:
    """Write the files of a plan and name them, as --nf takes them."""
    files = router_files(folder, plan)
    return "router:" + ",".join(f"{name}={path}" for name, path in files.items()) + more


@contextmanager
def taut_router(
    links: Links, plan: Plan, scope: RunScope, folder: Path, more: str = ""
) -> Iterator[Callable[[], dict[str, Any]]]:
    """Run taut's router; what is given stops it and gives its counters."""
    options = TautForwardOptions(nf=(router_option(folder, plan, more),), eal=("--no-huge",))
    driver = TautForwardDriver()
    with driver.running(links, LAST_CORE, options, folder / "logs", scope) as dut:

        def counters() -> dict[str, Any]:
            nfs: list[dict[str, Any]] = dut.stop().others["nfs"]  # type: ignore[assignment]
            return nfs[0]

        yield counters


@contextmanager
def kernel_router(links: Links, plan: Plan, scope: RunScope, folder: Path) -> Iterator[None]:
    """Have the kernel route between the device's ends of the links, and answer without a limit."""
    options = LinuxRouterOptions(**router_files(folder, plan))
    with LinuxRouterDriver().running(links, LAST_CORE, options, folder, scope):
        netlink.inside(str(links[0].device_netns), _answer_all)
        yield


def _answer_all() -> None:
    root = Path("/proc/sys/net")
    (root / "ipv4/icmp_ratelimit").write_text("0\n")
    (root / "ipv6/icmp/ratelimit").write_text("0\n")
    (root / "ipv4/icmp_msgs_per_sec").write_text("1000000\n")
    (root / "ipv4/icmp_msgs_burst").write_text("1000000\n")
