"""The kernel's nftables between two stations, in a namespace that outlives rule sets."""

import json
import os
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

import pytest

from firewall_packets import MARKER, Packet, ident_of, protocol_of, stations
from firewall_rules import RuleSet
from taut.dut.kernel_rules import apart
from taut.testbed import netlink
from taut.testbed.scope import RunScope

IGNORE_OUTGOING = 23  # PACKET_IGNORE_OUTGOING of linux/if_packet.h
SO_RCVBUFFORCE = 33  # asm-generic/socket.h
ROOM_BYTES = 1 << 21  # for all packets of a test at once
NETLINK_NETFILTER = 12  # linux/netlink.h
FLUSH_CONNECTIONS = 0x102  # linux/nfnetlink.h: NFNL_SUBSYS_CTNETLINK, IPCTNL_MSG_CT_DELETE
REQUEST_WITH_ANSWER = 5
TIMEOUT_S = 60.0


class Stations:
    """A device's two links, seen by the stations at their other ends."""

    takes_turns = True
    """Whether one link waits until the other's packets are judged: else their order is not kept."""

    def __init__(self, sockets: Sequence[socket.socket], macs: Sequence[bytes]) -> None:
        self._sockets = sockets
        self._macs = macs
        self._markers = [Packet(port, 4, MARKER, *stations(Random(0), 4, port)) for port in (0, 1)]

    def accepted(self, packets: Sequence[Packet]) -> list[bool]:
        """Have packets judged one after the other; say which came out."""
        out: set[int] = set()
        for ident, packet in enumerate(packets, 1):
            if self.takes_turns and ident > 1 and packet.port != packets[ident - 2].port:
                out |= self._wait(packets[ident - 2].port)
            self._send(packet, ident)
        for port in (0, 1):
            out |= self._wait(port)
        return [ident in out for ident in range(1, len(packets) + 1)]

    def _send(self, packet: Packet, ident: int) -> None:
        self._sockets[packet.port].send(packet.frame(ident, self._macs[packet.port]))

    def _wait(self, port: int) -> set[int]:
        """Send what every rule set lets through, and take what is before it."""
        self._send(self._markers[port], 0)
        out = set()
        while True:
            frame = self._sockets[1 - port].recv(2048)
            ident = ident_of(frame)
            if ident is not None and protocol_of(frame) == MARKER and frame[12:14] == b"\x08\x00":
                return out
            out.add(ident or 0)


@contextmanager
def wires(scope: RunScope, device: str, names: Sequence[str]) -> Iterator[list[socket.socket]]:
    """Make two veth pairs to a device's namespace; give the stations' sockets."""
    with scope.namespace(f"s{device[-3:]}") as namespace, ExitStack() as stack:
        for name in names:
            netlink.add_veth(f"s{name}", namespace, name, device)
        yield [stack.enter_context(_station(namespace, f"s{name}")) for name in names]


def _station(namespace: str, name: str) -> socket.socket:
    def opened() -> socket.socket:
        found = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        found.setsockopt(263, IGNORE_OUTGOING, 1)  # SOL_PACKET
        found.bind((name, 3))
        found.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM_BYTES)
        found.settimeout(TIMEOUT_S)
        return found

    return netlink.inside(namespace, opened)


class KernelFirewall(Stations):
    """Routes between two links, with rules at its forward hook.

    It takes packets, and the stations what comes out, from the backlog of the CPU that sent them,
    which is first in, first out: they can be sent all at once, from one CPU.
    """

    takes_turns = False

    def __init__(
        self, device: str, connections: socket.socket, sockets: Sequence[socket.socket]
    ) -> None:
        names = ("port0", "port1")
        macs = netlink.inside(device, lambda: [_route(i, name) for i, name in enumerate(names)])
        super().__init__(sockets, macs)
        self._device = device
        self._connections = connections

    def load(self, rules: RuleSet) -> None:
        """Put rules in the place of others, at once, and forget all connections."""
        loaded = self._nft(f"flush ruleset\n{apart(rules.text())}")
        assert loaded.returncode == 0, (loaded.stderr, rules.text())
        # struct nlmsghdr, struct nfgenmsg of no family: those of all.
        head = (20, FLUSH_CONNECTIONS, REQUEST_WITH_ANSWER, 0, 0)
        self._connections.send(struct.pack("=IHHII4x", *head))
        (error,) = struct.unpack_from("=i", self._connections.recv(4096), 16)
        assert error == 0, error

    def accepted(self, packets: Sequence[Packet]) -> list[bool]:
        """Send all from one CPU; say which came out."""
        cpus = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {sorted(cpus)[os.getpid() % len(cpus)]})
        try:
            return super().accepted(packets)
        finally:
            os.sched_setaffinity(0, cpus)

    def _nft(self, text: str) -> subprocess.CompletedProcess[str]:
        command = ["nsenter", f"--net=/run/netns/{self._device}", "nft", "-f", "-"]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)

    def works(self) -> bool:
        return self._nft("add table inet probe\n").returncode == 0


@contextmanager
def kernel_firewall(scope: RunScope) -> Iterator[KernelFirewall]:
    if shutil.which("nft") is None:
        pytest.skip("needs nft; devtools/setup.sh test installs it")
    with (
        scope.namespace("ker") as device,
        wires(scope, device, ("port0", "port1")) as sockets,
        netlink.inside(device, _open_netfilter) as connections,
    ):
        found = KernelFirewall(device, connections, sockets)
        if not found.works():
            pytest.skip("no nf_tables in this kernel")
        netlink.inside(device, _be_liberal)
        yield found


def _open_netfilter() -> socket.socket:
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)


def _route(index: int, name: str) -> bytes:
    """Set up an interface of the namespace this thread is in; give its MAC address."""
    for path, value in (
        ("ipv4/ip_forward", 1),
        ("ipv4/conf/all/rp_filter", 0),
        (f"ipv4/conf/{name}/rp_filter", 0),
        ("ipv6/conf/all/disable_ipv6", 0),
        (f"ipv6/conf/{name}/disable_ipv6", 0),
        (f"ipv6/conf/{name}/accept_dad", 0),
        ("ipv6/conf/all/forwarding", 1),
    ):
        Path(f"/proc/sys/net/{path}").write_text(f"{value}\n")
    for address in (f"10.{index}.255.254/16", f"fd00:{'ab'[index]}::ffff:1/64"):
        subprocess.run(["ip", "addr", "add", address, "dev", name], check=True)
    shown = subprocess.run(["ip", "-j", "link", "show", name], check=True, stdout=subprocess.PIPE)
    return bytes.fromhex(json.loads(shown.stdout)[0]["address"].replace(":", ""))


def _be_liberal() -> None:
    """Neither side looks at sequence numbers or sums of checked bytes (docs/firewall.md)."""
    folder = Path("/proc/sys/net/netfilter")
    for name, value in (("nf_conntrack_tcp_be_liberal", 1), ("nf_conntrack_checksum", 0)):
        (folder / name).write_text(f"{value}\n")
