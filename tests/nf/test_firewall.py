"""The firewall's verdicts beside those of a naive reader of the same rules, for many rule sets."""

import random
from collections.abc import Sequence

import pytest

from firewall_alone import Firewall
from firewall_packets import Packet, any_packet, conversations
from firewall_rules import RuleSet, named_seeds, rule_set
from firewall_tracker import Tracker

N_RULE_SETS = 25
LONG = (pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 11))
SEEDS = named_seeds() or [0, *LONG]


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
