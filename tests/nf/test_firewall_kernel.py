"""The same rules in taut-forward, the kernel's nftables and a naive reader: the same verdicts.

Without fragments: the kernel's tracker, and the packet sockets of port veth, put those of IPv4
together first, and where nothing is tracked the kernel compares the bytes of a later one as ports.
"""

import json
import random
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from firewall_packets import MACS, MARKER, Packet, any_packet, conversations, ident_of, protocol_of
from firewall_packets import stations as choose_stations
from firewall_rules import RuleSet, named_seeds, rule_set
from firewall_tracker import Tracker
from forwarding import start, stop
from taut.testbed import netlink
from taut.testbed.scope import RunScope

pytestmark = [pytest.mark.root, pytest.mark.beside]

N_PACKETS = 300
LONG = (pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 25))
SEEDS = named_seeds() or [*range(3), *LONG]
IGNORE_OUTGOING = 23  # PACKET_IGNORE_OUTGOING of linux/if_packet.h
TIMEOUT_S = 20.0


class Path2:
    """A device's two links, seen by the stations at their other ends."""

    def __init__(self, sockets: Sequence[socket.socket], macs: Sequence[bytes]) -> None:
        self._sockets = sockets
        self._macs = macs
        self._marker = Packet(0, 4, MARKER, *choose_stations(random.Random(0), 4, 0))

    def accepted(self, packets: Sequence[Packet]) -> list[bool]:
        """Send each packet after the one before has been judged; say which came out."""
        out: set[int] = set()
        for ident, packet in enumerate(packets, 1):
            if ident > 1 and packet.port != packets[ident - 2].port:
                out |= self._wait(packets[ident - 2].port)
            self._send(packet, ident)
        out |= self._wait(packets[-1].port)
        return [ident in out for ident in range(1, len(packets) + 1)]

    def _send(self, packet: Packet, ident: int) -> None:
        self._sockets[packet.port].send(packet.frame(ident, self._macs[packet.port]))

    def _wait(self, port: int) -> set[int]:
        """Send what every rule set lets through, and take what is before it."""
        ends = choose_stations(random.Random(0), 4, port)
        self._send(Packet(port, 4, MARKER, *ends), 0)
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
        yield [stack.enter_context(station(namespace, f"s{name}")) for name in names]


def station(namespace: str, name: str) -> socket.socket:
    def opened() -> socket.socket:
        found = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        found.setsockopt(263, IGNORE_OUTGOING, 1)  # SOL_PACKET
        found.bind((name, 3))
        found.settimeout(TIMEOUT_S)
        return found

    return netlink.inside(namespace, opened)


@contextmanager
def forwarder(scope: RunScope, rules: Path, stats: Path) -> Iterator[Path2]:
    with scope.namespace("tau") as device, wires(scope, device, ("tw0", "tw1")) as sockets:
        ports = [word for name in ("tw0", "tw1") for word in ("--port", f"veth:{name}")]
        arguments = [*ports, "--nf", f"firewall:rules={rules}", "--stats", str(stats)]
        process = netlink.inside(device, lambda: start(*arguments))
        try:
            yield Path2(sockets, MACS)
            stop(process)
        finally:
            process.kill()


@contextmanager
def kernel(scope: RunScope, rules: Path) -> Iterator[Path2]:
    """Route between two links, with the rules at its forward hook."""
    nft = shutil.which("nft")
    if nft is None:
        pytest.skip("needs nft; devtools/setup.sh test installs it")
    names = ("port0", "port1")
    with scope.namespace("ker") as device, wires(scope, device, names) as sockets:
        macs = netlink.inside(device, lambda: [route(i, name) for i, name in enumerate(names)])

        def load(*arguments: str) -> subprocess.CompletedProcess[str]:
            command = ["ip", "netns", "exec", device, nft, *arguments]
            return subprocess.run(command, capture_output=True, text=True, check=False)

        if load("add", "table", "inet", "probe").returncode != 0:
            pytest.skip("no nf_tables in this kernel")
        loaded = load("-f", str(rules))
        assert loaded.returncode == 0, (loaded.stderr, rules.read_text())
        # Every rule here is counted by the kernel's tracker where it looks, and nowhere else.
        netlink.inside(device, be_liberal)
        yield Path2(sockets, macs)


def route(index: int, name: str) -> bytes:
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


def be_liberal() -> None:
    """Neither side looks at sequence numbers or sums of checked bytes (docs/firewall.md)."""
    folder = Path("/proc/sys/net/netfilter")
    for name, value in (("nf_conntrack_tcp_be_liberal", 1), ("nf_conntrack_checksum", 0)):
        if (folder / name).exists():
            (folder / name).write_text(f"{value}\n")


def judged_by_all(
    tmp_path: Path, rules: RuleSet, packets: Sequence[Packet], wanted: Sequence[bool]
) -> None:
    path, stats = tmp_path / "rules.nft", tmp_path / "stats.json"
    path.write_text(rules.text())
    with RunScope(tmp_path / "base") as scope:
        with forwarder(scope, path, stats) as device:
            ours = device.accepted(packets)
        with kernel(scope, path) as device:
            theirs = device.accepted(packets)

    for packet, mine, right, other in zip(packets, ours, wanted, theirs, strict=True):
        found = f"taut-forward {mine}, naive reader {right}, kernel {other}"
        assert mine == right == other, (packet, found, rules.text())
    document = json.loads(stats.read_text())
    (function,) = document["nfs"]
    assert sum(function["dropped_by"].values()) == function["dropped"]
    assert sum(port["tx"] for port in document["ports"]) == function["in"] - function["dropped"]


@pytest.mark.parametrize("seed", SEEDS)
def test_rules_alone(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    rules = rule_set(rng, stateful=False)
    packets = [packet for _ in range(N_PACKETS) if not (packet := any_packet(rng)).fragment]

    judged_by_all(tmp_path, rules, packets, [rules.verdict(packet.seen()) for packet in packets])


@pytest.mark.parametrize("seed", SEEDS)
def test_connections(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    rules = rule_set(rng, stateful=True)
    while not any("ct state" in match.text for rule in rules.rules for match in rule.matches):
        rules = rule_set(rng, stateful=True)
    packets = conversations(rng, 40) + [any_packet(rng) for _ in range(50)]
    packets = [packet for packet in packets if not packet.fragment]
    tracker = Tracker(rules)

    judged_by_all(tmp_path, rules, packets, [tracker.verdict(packet) for packet in packets])
