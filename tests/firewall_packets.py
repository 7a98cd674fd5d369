"""Packets for firewalls: what rules compare of them, and, made apart from that, their frames."""

import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address

ICMP, TCP, UDP, GRE, ICMPV6, NOTHING = 1, 6, 17, 47, 58, 59
ICMP_TYPES = {
    4: (0, 3, 8, 11, 13, 14, 17, 18),
    6: (1, 3, 128, 129, 130, 133, 135, 136, 137, 138, 139, 140, 143, 160),
}
ASKED = {4: ((8, 0), (13, 14)), 6: ((128, 129), (139, 140))}
MARKER = 253  # RFC 3692: for experiments; what tests know the end of a burst by
FIN, SYN, RST, ACK = 1, 2, 4, 16
HOP_BY_HOP, FRAGMENT, DESTINATION = 0, 44, 60
MACS = (bytes.fromhex("020000000a01"), bytes.fromhex("020000000a02"))
NETS = {
    4: (int(IPv4Address("10.0.0.0")), int(IPv4Address("10.1.0.0"))),
    6: (int(IPv6Address("fd00:a::")), int(IPv6Address("fd00:b::"))),
}
PORTS = (1, 2, 3, 53, 80, 443, 1023, 1024, 65535)


@dataclass(frozen=True)
class Packet:
    """A packet as a test means it. Stations of NETS[family][i] are behind port i."""

    port: int
    family: int
    protocol: int
    source: int
    destination: int
    sport: int = 0
    dport: int = 0
    flags: int = 0
    seq: int = 1
    ack: int = 0
    icmp_type: int = 0
    icmp_code: int = 0
    icmp_id: int = 0
    quoted: "Packet | None" = None
    upper_len: int | None = None
    """How much of the header behind IP's there is; None: all."""
    fragment: str = ""
    """first, later, or none."""
    extra: int = 0
    """1: options, or of IPv6 a hop-by-hop header; 2: of IPv6 a destination header."""

    @property
    def upper(self) -> bytes:
        if self.protocol == TCP:
            numbers = (self.sport, self.dport, self.seq, self.ack, 0x50, self.flags, 9999, 0, 0)
            whole = struct.pack(">HHIIBBHHH", *numbers)
        elif self.protocol == UDP:
            whole = struct.pack(">HHHHI", self.sport, self.dport, 12, 0, 0)
        elif self.protocol in (ICMP, ICMPV6):
            whole = struct.pack(">BBHHH", self.icmp_type, self.icmp_code, 0, self.icmp_id, 1)
            whole += self.quoted.ip(0) if self.quoted else b""
        else:
            whole = bytes(8)
        return whole[: self.upper_len]

    def seen(self) -> dict[str, int]:
        """What rules may compare, by nftables' words; what is not there is absent."""
        found = {"iifname": self.port, "nfproto": self.family, "l4proto": self.protocol}
        found |= {f"saddr{self.family}": self.source, f"daddr{self.family}": self.destination}
        if self.fragment == "later":
            return found
        n_bytes = len(self.upper)
        if self.protocol in (TCP, UDP):
            for at, name, value in ((2, "sport", self.sport), (4, "dport", self.dport)):
                if n_bytes >= at:
                    found |= {f"{self.protocol} {name}": value, f"th {name}": value}
        if self.protocol == TCP and n_bytes >= 14:
            found["flags"] = self.flags
        if self.protocol == {4: ICMP, 6: ICMPV6}[self.family] and n_bytes >= 1:
            found[f"type{self.family}"] = self.icmp_type
        return found

    def ip(self, ident: int) -> bytes:
        """Give the packet; ident is found again in what comes out (`ident_of`)."""
        return self._ipv4(ident) if self.family == 4 else self._ipv6(ident)

    def frame(self, ident: int, destination: bytes = MACS[1], source: bytes = MACS[0]) -> bytes:
        ether_type = b"\x08\x00" if self.family == 4 else b"\x86\xdd"
        return (destination + source + ether_type + self.ip(ident)).ljust(60, b"\x5a")

    def _ipv4(self, ident: int) -> bytes:
        options = b"\x01" * 4 if self.extra else b""
        words = {"first": 0x2000, "later": 0x0001, "": 0}[self.fragment]
        first = 0x45 + len(options) // 4
        total = 20 + len(options) + len(self.upper)
        header = struct.pack(">BBHHHBBH", first, 0, total, ident, words, 64, self.protocol, 0)
        header += struct.pack(">II", self.source, self.destination) + options
        checksum = sum(struct.unpack(f">{len(header) // 2}H", header))
        checksum = (checksum & 0xFFFF) + (checksum >> 16)
        checksum = ~((checksum & 0xFFFF) + (checksum >> 16)) & 0xFFFF
        return header[:10] + struct.pack(">H", checksum) + header[12:] + self.upper

    def _ipv6(self, ident: int) -> bytes:
        following, body = self.protocol, self.upper
        if self.fragment:
            offset = {"first": 1, "later": 8}[self.fragment]
            body = struct.pack(">BBHI", following, 0, offset, ident) + body
            following = FRAGMENT
        if self.extra:
            body = struct.pack(">BB6B", following, 0, 1, 4, 0, 0, 0, 0) + body
            following = HOP_BY_HOP if self.extra == 1 else DESTINATION
        header = struct.pack(">IHBB", 6 << 28 | ident, len(body), following, 64)
        addresses = self.source.to_bytes(16) + self.destination.to_bytes(16)
        return header + addresses + body


def ident_of(frame: bytes) -> int | None:
    """Find the number of a packet in its frame; None: it is no packet of a test."""
    if frame[12:14] == b"\x08\x00":
        return int.from_bytes(frame[18:20])
    if frame[12:14] == b"\x86\xdd":
        return int.from_bytes(frame[14:18]) & 0xFFFFF
    return None


def protocol_of(frame: bytes) -> int:
    return frame[23] if frame[12:14] == b"\x08\x00" else frame[20]


def stations(rng: random.Random, family: int, port: int) -> tuple[int, int]:
    """Choose a source behind a port and a destination behind the other."""
    source, destination = (NETS[family][i] for i in (port, 1 - port))
    return source + rng.randrange(1, 300), destination + rng.randrange(1, 300)


def any_packet(rng: random.Random) -> Packet:
    """Give one of no connection: odd flags, fragments, headers that end early."""
    port, family = rng.randrange(2), rng.choice((4, 6))
    icmp = ICMP if family == 4 else ICMPV6
    packet = Packet(
        port,
        family,
        rng.choice((TCP, TCP, UDP, UDP, icmp, GRE, NOTHING, 89)),
        *stations(rng, family, port),
        sport=rng.choice(PORTS),
        dport=rng.choice(PORTS),
        flags=rng.randrange(64),
        icmp_type=rng.choice(ICMP_TYPES[family]),
        icmp_code=rng.choice((0, 0, 0, 1)),
        extra=rng.choice((0, 0, 0, 1, 2)),
        fragment=rng.choice(("",) * 8 + ("first", "later")),
    )
    if rng.random() < 0.15:
        packet = replace(packet, upper_len=rng.randrange(len(packet.upper)))
    return packet


def conversation(rng: random.Random) -> Iterator[Packet]:
    """Give the packets of one connection in order, now and then one that has no place there."""
    port, family = rng.randrange(2), rng.choice((4, 6))
    source, destination = stations(rng, family, port)
    kind = rng.choice((TCP, TCP, UDP, ICMP, GRE, NOTHING))
    kind = ICMPV6 if kind == ICMP and family == 6 else kind
    ask = Packet(port, family, kind, source, destination)
    if kind in (TCP, UDP):
        ask = replace(ask, sport=rng.randrange(1024, 1100), dport=rng.choice(PORTS))
    if kind in (ICMP, ICMPV6):
        request, reply = rng.choice(ASKED[family])
        code = rng.choice((0, 0, 1))
        ask = replace(ask, icmp_type=request, icmp_code=code, icmp_id=rng.randrange(1, 9))
        answer = replace(back(ask), icmp_type=reply)
    else:
        answer = back(ask)
    if kind == TCP:
        yield from _tcp(rng, ask, answer)
        return
    for _ in range(rng.randrange(1, 8)):
        packet = rng.choice((ask, ask, answer))
        if kind in (ICMP, ICMPV6) and rng.random() < 0.2:
            packet = replace(packet, icmp_code=7)
        yield packet
        if kind in (UDP, NOTHING) and rng.random() < 0.2:
            yield error_about(packet)


def back(packet: Packet) -> Packet:
    return replace(
        packet,
        port=1 - packet.port,
        source=packet.destination,
        destination=packet.source,
        sport=packet.dport,
        dport=packet.sport,
    )


def error_about(packet: Packet) -> Packet:
    """Give what a station, or a router behind the same port as it, says of a packet it was sent."""
    return Packet(
        1 - packet.port,
        packet.family,
        ICMP if packet.family == 4 else ICMPV6,
        packet.destination + 1000,
        packet.source,
        icmp_type=3 if packet.family == 4 else 1,
        quoted=packet,
    )


def _tcp(rng: random.Random, ask: Packet, answer: Packet) -> Iterator[Packet]:
    """Walk through a connection; sequence numbers are right, since the kernel looks at them."""
    sent, got = 1000, 5000
    if rng.random() < 0.85:
        yield replace(ask, flags=SYN, seq=sent)
        if rng.random() < 0.2:
            yield replace(ask, flags=SYN, seq=sent)
        if rng.random() < 0.1:
            yield replace(answer, flags=RST | ACK, seq=0, ack=sent + 1)
            return
        yield replace(answer, flags=SYN | ACK, seq=got, ack=sent + 1)
    sent, got = sent + 1, got + 1
    for _ in range(rng.randrange(1, 6)):
        one = replace(ask, seq=sent, ack=got, flags=ACK)
        other = replace(answer, seq=got, ack=sent, flags=ACK)
        yield one
        yield rng.choice((one, other))
        if rng.random() < 0.1:
            yield error_about(one)
        if rng.random() < 0.1:  # flags that make no sense
            yield replace(one, flags=rng.choice((0, SYN | FIN, FIN, SYN | RST, 63)))
    if rng.random() < 0.15:
        yield replace(ask, flags=RST, seq=sent)
    elif rng.random() < 0.8:
        yield replace(ask, flags=FIN | ACK, seq=sent, ack=got)
        yield replace(answer, flags=ACK, seq=got, ack=sent + 1)
        yield replace(answer, flags=FIN | ACK, seq=got, ack=sent + 1)
        yield replace(ask, flags=ACK, seq=sent + 1, ack=got + 1)
    if rng.random() < 0.3:
        yield replace(ask, flags=SYN, seq=90000)
        yield replace(answer, flags=SYN | ACK, seq=70000, ack=90001)


def conversations(rng: random.Random, n: int) -> list[Packet]:
    """Give n connections, their packets among each other."""
    running = [conversation(rng) for _ in range(n)]
    packets = []
    while running:
        one = rng.choice(running)
        packet = next(one, None)
        if packet is None:
            running.remove(one)
        else:
            packets.append(packet)
    return packets
