"""Routes and rules for bench/functions.py: the same numbers give the same files."""

import random
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

NETWORK = int(IPv4Address("10.0.0.0"))  # where taut-generate spreads destinations
STATIONS = int(IPv4Address("198.18.0.0"))  # /15, where it sends from
N_GATEWAYS = 16
# About a table of the Internet's: lengths of prefixes and how many in a hundred have each.
LENGTHS = {16: 2, 18: 1, 19: 3, 20: 5, 21: 6, 22: 12, 23: 10, 24: 59, 26: 1, 28: 1}
RULES_HEAD = """add table inet bench
add chain inet bench forward {{ type filter hook forward priority 0; policy {policy}; }}
"""
# Ports that rules name: none is where probes go.
PORTS = (22, 53, 80, 123, 443, 3306, 5432, 8080)


@dataclass(frozen=True)
class Routes:
    """Files of the same routes, for taut's router (its options) and for DPDK's l3fwd."""

    options: str
    l3fwd_v4: Path
    l3fwd_v6: Path


def prefixes(n: int, seed: int = 15) -> list[tuple[int, int]]:
    """Give n prefixes of 10.0.0.0/8, the first of which is all of it."""
    rng = random.Random(seed)
    found = {(NETWORK, 8): None}
    while len(found) < n:
        (length,) = rng.choices(list(LENGTHS), list(LENGTHS.values()))
        host_bits = 32 - length
        found[NETWORK | rng.getrandbits(24) >> host_bits << host_bits, length] = None
    return list(found)


def write_routes(folder: Path, n: int) -> Routes:
    """Write n routes that all lead out of port 1."""
    routes, neighbours = folder / f"routes-{n}", folder / "neighbours"
    v4, v6 = folder / f"l3fwd-v4-{n}", folder / "l3fwd-v6"
    named = [f"{IPv4Address(address)}/{length}" for address, length in prefixes(n)]
    lines = [f"{name} via {gateway(i % N_GATEWAYS)} dev 1\n" for i, name in enumerate(named)]
    routes.write_text("".join(lines))
    neighbours.write_text(
        "".join(f"{gateway(i)} dev 1 lladdr 02:74:00:00:01:{i:02x}\n" for i in range(N_GATEWAYS))
    )
    v4.write_text("".join(f"R{name} 1\n" for name in named))
    v6.write_text("R2001:0db8:0000:0000:0000:0000:0000:0000/48 1\n")
    return Routes(f"routes={routes},neighbours={neighbours}", v4, v6)


def gateway(number: int) -> str:
    return f"198.51.100.{number + 1}"


def write_rules(folder: Path, n: int, *, is_stateful: bool, seed: int = 15) -> Path:
    """Write n rules of which the last accepts the probes; no other fits them."""
    rng = random.Random(seed)
    path = folder / f"rules-{n}{'-stateful' if is_stateful else ''}"
    rules = [drop(rng) for _ in range(n - 1)]
    if is_stateful and rules:
        rules[0] = "ct state established,related accept"
    rules.append("udp dport 9 ct state new accept" if is_stateful else "udp dport 9 accept")
    head = RULES_HEAD.format(policy="drop")
    path.write_text(head + "".join(f"add rule inet bench forward {rule}\n" for rule in rules))
    return path


def drop(rng: random.Random) -> str:
    """Keep somebody from a service of a network; the addresses may be those of probes."""
    words = [f"ip daddr {network(rng, NETWORK, 24, (16, 20, 24, 24, 32))}"]
    if rng.random() < 0.7:
        words.append(f"ip saddr {network(rng, STATIONS, 17, (15, 16, 24, 32))}")
    first = rng.choice(PORTS)
    last = f"-{first + rng.randrange(1, 100)}" if rng.random() < 0.2 else ""
    words.append(f"{rng.choice(('tcp', 'tcp', 'udp'))} dport {first}{last}")
    return " ".join([*words, "drop"])


def network(rng: random.Random, base: int, bits: int, lengths: tuple[int, ...]) -> str:
    """Give a network of one of these lengths whose last bits are any."""
    length = rng.choice(lengths)
    host_bits = 32 - length
    return f"{IPv4Address((base | rng.getrandbits(bits)) >> host_bits << host_bits)}/{length}"
