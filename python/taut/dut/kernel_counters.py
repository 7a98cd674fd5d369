"""What a router that is the kernel counted, and why packets that came in did not come out.

The kernel counts reasons in several places and not all of them: `other` is what no counter names,
so that what came in is what came out and was dropped.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from taut.records.documents.json_form import JsonObject
from taut.testbed import netlink

# Of the thread that asks: /proc/net is of the process, whatever namespace its thread is in.
_TABLES = Path("/proc/thread-self/net")
_MOST_READINGS = 10
# RFC 4293, and what Linux adds to it; IPv4 and IPv6 together, no packet in two of them.
_REASONS = (
    "InHdrErrors",
    "InAddrErrors",
    "InNoRoutes",
    "InTruncatedPkts",
    "InUnknownProtos",
    "InDiscards",
    "InDelivers",
    "OutDiscards",
    "OutNoRoutes",
)


def count_lost(
    namespace: str, ports: Sequence[str], by_rules: Mapping[str, int] | None = None
) -> JsonObject:
    """Give in, out, own (ICMP), dropped, and dropped_by: reasons whose sum is dropped."""
    links, counted = _read_at_rest(namespace, ports)
    come = sum(link["rx_packets"] for link in links)
    out = sum(link["tx_packets"] for link in links)
    own = counted.get("Icmp.OutMsgs", 0) + counted.get("Icmp6.OutMsgs", 0)
    reasons = dict(by_rules or {})
    reasons |= {
        name: sum(counted.get(f"{table}.{name}", 0) for table in ("Ip", "IpExt", "Ip6"))
        for name in _REASONS
    }
    # Not rx_dropped: what finds the core's queue full has not come in, and the sender tries again.
    reasons["link"] = sum(link["tx_dropped"] for link in links)
    dropped = come - (out - own)
    reasons["other"] = dropped - sum(reasons.values())
    return {"in": come, "out": out, "own": own, "dropped": dropped, "dropped_by": reasons}


def _read_at_rest(
    namespace: str, ports: Sequence[str]
) -> tuple[list[dict[str, int]], dict[str, int]]:
    """Read the links and the tables of one moment.

    The kernel reports its IPv6 groups some time in the first second: such a packet between the two
    readings would be in one of them alone.
    """

    def read_links() -> list[dict[str, int]]:
        return [netlink.link_counters(port, namespace) for port in ports]

    links = read_links()
    for _ in range(_MOST_READINGS):
        counted = netlink.inside(namespace, _read_tables)
        before, links = links, read_links()
        if links == before:
            break
    return links, counted


def tables_full() -> int:
    """Count the packets that the namespace of this thread dropped for want of a connection."""
    path = _TABLES / "stat/nf_conntrack"
    if not path.exists():
        return 0
    names, *rows = (line.split() for line in path.read_text(encoding="ascii").splitlines())
    return sum(int(row[names.index("drop")], 16) for row in rows)


def _read_tables() -> dict[str, int]:
    return {
        name: value
        for file, parse in (("snmp", _in_pairs), ("netstat", _in_pairs), ("snmp6", _one_a_line))
        if (_TABLES / file).exists()
        for name, value in parse((_TABLES / file).read_text(encoding="ascii").splitlines())
    }


def _in_pairs(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Read a line of names, then one of values: `Ip: Forwarding DefaultTTL`, `Ip: 1 64`."""
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        table, *keys = names.split()
        for key, value in zip(keys, values.split()[1:], strict=True):
            yield f"{table.rstrip(':')}.{key}", int(value)


def _one_a_line(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Read lines as `Ip6InReceives 5`, in which table and counter are one word."""
    for line in lines:
        name, value = line.split()
        table = "Icmp6" if name.startswith("Icmp6") else "Ip6"
        yield f"{table}.{name.removeprefix(table)}", int(value)
