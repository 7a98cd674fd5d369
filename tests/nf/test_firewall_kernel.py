"""The same rules in taut's firewall, the kernel's nftables and a naive reader: the same verdicts.

TAUT_RULE_SEEDS=0-9999 tries ten thousand rule sets, of which each second one tracks connections.

Without fragments: the kernel's tracker, and the packet sockets of port veth, put those of IPv4
together first, and where nothing is tracked the kernel compares the bytes of a later one as ports.
"""

import json
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from firewall_alone import Firewall
from firewall_kernel import KernelFirewall, Stations, kernel_firewall, wires
from firewall_packets import MACS, Packet, any_packet, conversations
from firewall_rules import RuleSet, named_seeds, rule_set
from firewall_tracker import Tracker
from forwarding import start, stop
from taut.testbed import netlink
from taut.testbed.scope import RunScope

pytestmark = [pytest.mark.root, pytest.mark.beside]

N_PACKETS = 300
LONG = (pytest.param(seed, marks=pytest.mark.long) for seed in range(50, 200))
SEEDS = named_seeds() or [*range(50), *LONG]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KernelFirewall]:
    with RunScope(tmp_path_factory.mktemp("kernel")) as scope, kernel_firewall(scope) as found:
        yield found


def made(seed: int) -> tuple[RuleSet, Sequence[Packet], Sequence[bool]]:
    """Make a rule set, packets, and what a naive reader says of them; odd ones track."""
    rng = random.Random(seed)
    if seed % 2 == 0:
        rules = rule_set(rng, stateful=False)
        packets = [packet for _ in range(N_PACKETS) if not (packet := any_packet(rng)).fragment]
        return rules, packets, [rules.verdict(packet.seen()) for packet in packets]
    rules = rule_set(rng, stateful=True)
    while not any("ct state" in match.text for rule in rules.rules for match in rule.matches):
        rules = rule_set(rng, stateful=True)
    packets = conversations(rng, 40) + [any_packet(rng) for _ in range(50)]
    packets = [packet for packet in packets if not packet.fragment]
    tracker = Tracker(rules)
    return rules, packets, [tracker.verdict(packet) for packet in packets]


def assert_same(
    rules: RuleSet,
    packets: Sequence[Packet],
    ours: Sequence[bool],
    wanted: Sequence[bool],
    theirs: Sequence[bool],
) -> None:
    for packet, mine, right, other in zip(packets, ours, wanted, theirs, strict=True):
        found = f"taut {mine}, naive reader {right}, kernel {other}"
        assert mine == right == other, (packet, found, rules.text())


@pytest.mark.parametrize("seed", SEEDS)
def test_the_function_judges_as_the_kernel(
    firewall: Firewall, kernel: KernelFirewall, seed: int
) -> None:
    rules, packets, wanted = made(seed)
    bursts = random.Random(seed)
    firewall.load(rules)
    kernel.load(rules)

    ours: list[bool] = []
    while len(ours) < len(packets):
        ours += firewall.burst(packets[len(ours) :][: bursts.choice((1, 2, 31, 33, 100))])
    theirs = kernel.accepted(packets)

    assert_same(rules, packets, ours, wanted, theirs)


@contextmanager
def forwarder(scope: RunScope, rules: Path, stats: Path) -> Iterator[Stations]:
    with scope.namespace("tau") as device, wires(scope, device, ("tw0", "tw1")) as sockets:
        ports = [word for name in ("tw0", "tw1") for word in ("--port", f"veth:{name}")]
        arguments = [*ports, "--nf", f"firewall:rules={rules}", "--stats", str(stats)]
        process = netlink.inside(device, lambda: start(*arguments))
        try:
            yield Stations(sockets, MACS)
            stop(process)
        finally:
            process.kill()


@pytest.mark.parametrize("seed", range(6))
def test_the_forwarder_judges_as_the_kernel(
    tmp_path: Path, kernel: KernelFirewall, seed: int
) -> None:
    rules, packets, wanted = made(seed)
    path, stats = tmp_path / "rules.nft", tmp_path / "stats.json"
    path.write_text(rules.text())
    kernel.load(rules)

    with RunScope(tmp_path / "base") as scope, forwarder(scope, path, stats) as device:
        ours = device.accepted(packets)
    theirs = kernel.accepted(packets)

    assert_same(rules, packets, ours, wanted, theirs)
    document = json.loads(stats.read_text())
    (function,) = document["nfs"]
    assert sum(function["dropped_by"].values()) == function["dropped"]
    assert sum(port["tx"] for port in document["ports"]) == function["in"] - function["dropped"]
