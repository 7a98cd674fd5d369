"""The firewall's verdicts beside those of a naive reader of the same rules, for many rule sets."""

import json
import random
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from firewall_packets import Packet, any_packet, conversations
from firewall_rules import RuleSet, named_seeds, rule_set
from firewall_tracker import Tracker
from taut.core.binaries import find_binary

N_RULE_SETS = 25
LONG = (pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 41))
SEEDS = named_seeds() or [0, *LONG]


class Firewall:
    """The network function alone, in a process that outlives rule sets."""

    def __init__(self, folder: Path) -> None:
        program = find_binary("taut-forward").resolve().parents[1] / "nf" / "firewall_verdicts"
        self._rules = folder / "rules"
        self._process = subprocess.Popen(
            [str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().rstrip("\n")

    def load(self, rules: RuleSet) -> None:
        self._rules.write_text(rules.text())
        answer = self._ask(f"O rules={self._rules}")
        assert answer == "ok", (answer, rules.text())

    def burst(self, packets: Sequence[Packet]) -> list[bool]:
        frames = (f"{packet.port}:{packet.frame(0).hex()}" for packet in packets)
        return [digit == "1" for digit in self._ask(f"B {' '.join(frames)}")]

    def wait(self, seconds: float) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"T {int(seconds * 1e9)}\n")

    def stats(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self._ask("S"))
        return document

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(60) == 0


@pytest.fixture(scope="module")
def firewall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firewall]:
    found = Firewall(tmp_path_factory.mktemp("rules"))
    yield found
    found.close()


def assert_same(
    rules: RuleSet, packets: Sequence[Packet], got: Sequence[bool], wanted: Sequence[bool]
) -> None:
    assert len(got) == len(wanted) == len(packets)
    for packet, verdict, right in zip(packets, got, wanted, strict=True):
        assert verdict == right, (packet, f"wanted {right}", rules.text())


@pytest.mark.parametrize("seed", SEEDS)
def test_rules_alone_judge_as_read_one_by_one(firewall: Firewall, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(N_RULE_SETS):
        rules = rule_set(rng, stateful=False)
        packets = [any_packet(rng) for _ in range(200)]
        firewall.load(rules)

        got = [*firewall.burst(packets[:100]), *firewall.burst(packets[100:])]

        assert_same(rules, packets, got, [rules.verdict(packet.seen()) for packet in packets])


@pytest.mark.parametrize("seed", SEEDS)
def test_connections_are_tracked_as_in_a_dict(firewall: Firewall, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(N_RULE_SETS):
        rules = rule_set(rng, stateful=True)
        tracker = Tracker(rules)
        packets = conversations(rng, 30)
        packets += [any_packet(rng) for _ in range(20)]
        firewall.load(rules)
        tracked = any("ct state" in match.text for rule in rules.rules for match in rule.matches)
        got: list[bool] = []
        wanted: list[bool] = []

        # Bursts of all lengths: verdicts do not depend on them.
        while len(got) < len(packets):
            burst = packets[len(got) :][: rng.choice((1, 2, 31, 33, 100))]
            wanted += [
                tracker.verdict(packet) if tracked else rules.verdict(packet.seen())
                for packet in burst
            ]
            got += firewall.burst(burst)
            if rng.random() < 0.3:
                seconds = rng.choice((5.0, 29.0, 31.0, 119.0, 121.0))
                firewall.wait(seconds)
                tracker.now_s += seconds

        assert_same(rules, packets, got, wanted)


def test_every_packet_is_accepted_or_counted(firewall: Firewall) -> None:
    rng = random.Random(5)
    for stateful in (False, True) * 20:
        rules = rule_set(rng, stateful=stateful)
        packets = conversations(rng, 10) + [any_packet(rng) for _ in range(50)]
        packets = packets[:250]
        firewall.load(rules)

        n_accepted = sum(firewall.burst(packets))

        stats = firewall.stats()
        assert n_accepted + sum(stats["dropped_by"].values()) == len(packets)
        judged = [*stats["rules"], stats["policy"]]
        n_judged = len(packets) - stats["dropped_by"]["fragment"]
        assert sum(rule["packets"] for rule in judged) == n_judged
