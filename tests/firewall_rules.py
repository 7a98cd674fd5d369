"""Random rule sets as nftables spells them, and what a naive reader of them says of a packet."""

import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from firewall_packets import ACK, FIN, ICMP, ICMPV6, NETS, NOTHING, PORTS, RST, SYN, TCP, UDP

STATES = ("established", "related", "new", "invalid", "untracked")
FLAG_NAMES = {FIN: "fin", SYN: "syn", RST: "rst", 8: "psh", ACK: "ack", 32: "urg"}
PROTOCOLS = {
    ICMP: "icmp",
    TCP: "tcp",
    UDP: "udp",
    47: "gre",
    NOTHING: "59",
    89: "89",
    ICMPV6: "ipv6-icmp",
}
HEAD = """add table inet t
add chain inet t c {{ type filter hook forward priority 0; policy {policy}; }}
"""
MARKER_RULE = "add rule inet t c meta l4proto 253 accept\n"

Ranges = Sequence[tuple[int, int]]


def named_seeds() -> list[int]:
    """Give the seeds that TAUT_RULE_SEEDS=1000-1199 names instead of the usual; none: it does not.

    So as many rule sets are tried as there is time for.
    """
    first, _, last = os.environ.get("TAUT_RULE_SEEDS", "").partition("-")
    return list(range(int(first), int(last) + 1)) if first else []


@dataclass(frozen=True)
class Match:
    """One comparison: its text, and the values of the field that fit."""

    text: str
    field: str
    ranges: Ranges = ()
    is_inverted: bool = False
    mask: int = -1

    def fits(self, seen: Mapping[str, int]) -> bool:
        value = seen.get(self.field)
        if value is None:
            return False
        return self.is_inverted != any(
            first <= value & self.mask <= last for first, last in self.ranges
        )


@dataclass(frozen=True)
class Rule:
    matches: tuple[Match, ...]
    accepts: bool

    def text(self) -> str:
        words = [*(match.text for match in self.matches), "accept" if self.accepts else "drop"]
        return f"add rule inet t c {' '.join(words)}\n"


@dataclass(frozen=True)
class RuleSet:
    rules: tuple[Rule, ...]
    accepts: bool

    def text(self) -> str:
        """Give the file: what every rule set begins with lets the tests' markers through."""
        head = HEAD.format(policy="accept" if self.accepts else "drop")
        return head + MARKER_RULE + "".join(rule.text() for rule in self.rules)

    def verdict(self, seen: Mapping[str, int]) -> bool:
        for rule in self.rules:
            if all(match.fits(seen) for match in rule.matches):
                return rule.accepts
        return self.accepts


def rule_set(rng: random.Random, *, stateful: bool) -> RuleSet:
    accepts = rng.random() < 0.5
    n_rules = rng.choice((1, 3, 10, 20))
    # Most rules say otherwise than the policy: else there is little to tell apart.
    rules = tuple(_rule(rng, stateful, accepts ^ (rng.random() < 0.8)) for _ in range(n_rules))
    return RuleSet(rules, accepts)


def _rule(rng: random.Random, stateful: bool, accepts: bool) -> Rule:
    family = rng.choice((0, 4, 6))
    matches: list[Match] = []
    if stateful and rng.random() < 0.6:
        matches.append(_state(rng))
    if rng.random() < 0.2:
        port = rng.randrange(2)
        matches.append(Match(f'iifname "port{port}"', "iifname", [(port, port)]))
    if family == 0 and rng.random() < 0.3:
        family = rng.choice((4, 6))
        matches.append(Match(f"meta nfproto ipv{family}", "nfproto", [(family, family)]))
    for end in ("saddr", "daddr"):
        if family and rng.random() < 0.7:
            matches.append(_address(rng, family, end))
    matches += rng.choice((_nothing, _protocol, _ports, _ports, _flags, _icmp))(rng, family)
    return Rule(tuple(matches), accepts)


def _state(rng: random.Random) -> Match:
    chosen = rng.sample(STATES, rng.randrange(1, 3))
    numbers = [(STATES.index(name), STATES.index(name)) for name in chosen]
    if rng.random() < 0.2:
        text = chosen[0] if len(chosen) == 1 else f"{{ {', '.join(chosen)} }}"
        return Match(f"ct state != {text}", "state", numbers, is_inverted=True)
    return Match(f"ct state {','.join(chosen)}", "state", numbers)


def _spelled(rng: random.Random, texts: Sequence[str], often: float = 0.2) -> tuple[str, bool]:
    """Spell values, one or a set, perhaps inverted."""
    inverted = rng.random() < often
    value = texts[0] if len(texts) == 1 else f"{{ {', '.join(texts)} }}"
    return ("!= " if inverted else "") + value, inverted


def _address(rng: random.Random, family: int, end: str) -> Match:
    words, kind = ("ip", IPv4Address) if family == 4 else ("ip6", IPv6Address)
    bits = 32 if family == 4 else 128
    ranges: list[tuple[int, int]] = []
    texts: list[str] = []
    at = rng.choice(NETS[family]) + rng.randrange(40)
    for _ in range(rng.choice((1, 1, 2, 3))):
        if rng.random() < 0.7:
            free = rng.randrange(9)
            first = (at >> free) + 1 << free
            last = first + (1 << free) - 1
            texts.append(f"{kind(first)}/{bits - free}" if free else f"{kind(first)}")
        else:
            first, last = at + 1, at + 1 + rng.randrange(1, 20)
            texts.append(f"{kind(first)}-{kind(last)}")
        ranges.append((first, last))
        at = last + rng.randrange(1, 100)
    # All but one is many prefixes: rarely, and not at both ends.
    spelled, inverted = _spelled(rng, texts, 0.2 if len(texts) == 1 and end == "saddr" else 0)
    return Match(f"{words} {end} {spelled}", f"{end}{family}", ranges, inverted)


def _nothing(rng: random.Random, family: int) -> list[Match]:
    return []


def _protocol(rng: random.Random, family: int) -> list[Match]:
    chosen = rng.sample(sorted(PROTOCOLS), rng.randrange(1, 4))
    spelled, inverted = _spelled(rng, [PROTOCOLS[number] for number in chosen])
    return [Match(f"meta l4proto {spelled}", "l4proto", [(n, n) for n in chosen], inverted)]


def _ports(rng: random.Random, family: int) -> list[Match]:
    name = rng.choice(("tcp", "udp", "th"))
    matches = []
    if name == "th":
        both = [(TCP, TCP), (UDP, UDP)]
        matches.append(Match("meta l4proto { tcp, udp }", "l4proto", both))
    field = {"tcp": str(TCP), "udp": str(UDP), "th": "th"}[name]
    for end in rng.sample(("sport", "dport"), rng.randrange(1, 3)):
        ranges = [(port, port) for port in rng.sample(PORTS[:6], rng.randrange(1, 4))]
        if rng.random() < 0.4:
            first = rng.randrange(1000, 1090)
            ranges = [(first, first + rng.randrange(60))]
        texts = [str(a) if a == b else f"{a}-{b}" for a, b in ranges]
        spelled, inverted = _spelled(rng, texts)
        matches.append(Match(f"{name} {end} {spelled}", f"{field} {end}", ranges, inverted))
    return matches


def _flags(rng: random.Random, family: int) -> list[Match]:
    mask = rng.sample(sorted(FLAG_NAMES), rng.randrange(1, 5))
    set_flags = mask[: rng.randrange(1, len(mask) + 1)]
    left, right = (",".join(FLAG_NAMES[flag] for flag in flags) for flags in (set_flags, mask))
    text = f"tcp flags {left} / {right}" if len(mask) > 1 else f"tcp flags {left}"
    return [Match(text, "flags", [(sum(set_flags), sum(set_flags))], mask=sum(mask))]


def _icmp(rng: random.Random, family: int) -> list[Match]:
    family = family or rng.choice((4, 6))
    names = {0: "echo-reply", 3: "destination-unreachable", 8: "echo-request", 13: "13"}
    if family == 6:
        names = {1: "destination-unreachable", 128: "echo-request", 129: "echo-reply", 3: "3"}
        names |= {135: "135", 137: "137", 139: "139"}
    chosen = rng.sample(sorted(names), rng.randrange(1, 3))
    spelled, inverted = _spelled(rng, [names[number] for number in chosen])
    word = "icmp" if family == 4 else "icmpv6"
    ranges = [(number, number) for number in chosen]
    return [Match(f"{word} type {spelled}", f"type{family}", ranges, inverted)]
