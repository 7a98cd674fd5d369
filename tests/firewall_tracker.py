"""Connections as docs/firewall.md says they are tracked, kept in a dict: the naive reference."""

from dataclasses import dataclass, field

from firewall_packets import ACK, FIN, ICMP, ICMPV6, NOTHING, RST, SYN, TCP, UDP, Packet
from firewall_rules import STATES, RuleSet

TIMEOUTS_S = {
    "opening": 120,
    "tcp": 432000,
    "closing": 120,
    "closed": 10,
    "udp": 30,
    "answered": 120,
    "icmp": 30,
    "other": 600,
}
SOUND = [SYN, SYN | 32, SYN | ACK, RST, RST | ACK, FIN | ACK, FIN | ACK | 32, ACK, ACK | 32]
NEW, INVALID, ESTABLISHED, RELATED = "new", "invalid", "established", "related"
UNTRACKED_TYPES = (*range(130, 137), 143)  # discovery of listeners and neighbours
REQUESTS = {0: 8, 8: 8, 13: 13, 14: 13, 17: 17, 18: 17, 128: 128, 129: 128, 139: 139, 140: 139}


@dataclass
class Connection:
    first: tuple[int, int]
    """Address and port of who began it."""
    phase: str
    ends_s: float
    is_answered: bool = False
    fins: set[tuple[int, int]] = field(default_factory=set)


class Tracker:
    """What a stateful firewall says of one packet after the other."""

    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules
        self.now_s = 0.0
        self.connections: dict[object, Connection] = {}

    def verdict(self, packet: Packet) -> bool:
        """Judge the next packet; malformed ones are not for it."""
        if packet.fragment:
            return False
        key = _key(packet.quoted if packet.quoted else packet)
        if key in self.connections and self.connections[key].ends_s <= self.now_s:
            del self.connections[key]
        state = self._state(packet, key)
        if key in self.connections and not packet.quoted and state != INVALID:
            self._note(packet, key, state)
        accepted = self.rules.verdict(packet.seen() | {"state": STATES.index(state)})
        if accepted and state == NEW and key not in self.connections and packet.flags & RST == 0:
            phase = {TCP: "opening", UDP: "udp", ICMP: "icmp", ICMPV6: "icmp"}.get(
                packet.protocol, "other"
            )
            ends = self.now_s + TIMEOUTS_S[phase]
            if packet.protocol == TCP and packet.flags & SYN == 0:
                phase = "tcp"
            self.connections[key] = Connection(_sender(packet), phase, ends)
        return accepted

    def _state(self, packet: Packet, key: object) -> str:
        known = self.connections.get(key)
        if not _is_sound(packet):
            return INVALID
        if packet.protocol == ICMPV6 and packet.icmp_type in UNTRACKED_TYPES:
            return "untracked"
        if key is None:
            return INVALID
        if packet.quoted:
            return RELATED if known else INVALID
        flags = packet.flags & (FIN | SYN | RST | ACK) if packet.protocol == TCP else 0
        if known is None:
            is_reply = _request(packet) not in (None, packet.icmp_type)
            wrong = packet.protocol == TCP and flags not in (SYN, ACK)
            return INVALID if is_reply or wrong else NEW
        answers = _sender(packet) != known.first
        found = _tcp_state(known, flags, answers) if packet.protocol == TCP else None
        return found or (ESTABLISHED if answers or known.is_answered else NEW)

    def _note(self, packet: Packet, key: object, state: str) -> None:
        known = self.connections[key]
        answers = _sender(packet) != known.first
        flags = packet.flags
        if packet.protocol == TCP:
            again = known.phase == "closed" and state == NEW and flags & SYN
            if again or (flags & RST and not known.is_answered):
                del self.connections[key]
                return
            if flags & FIN:
                known.fins.add(_sender(packet))
            if flags & RST or len(known.fins) == 2:
                known.phase = "closed"
            elif known.phase in ("opening", "tcp"):
                if known.is_answered and not answers and flags & ACK:
                    known.phase = "tcp"
                if known.phase == "tcp" and known.fins:
                    known.phase = "closing"
        elif packet.protocol == UDP and answers:
            known.phase = "answered"
        known.is_answered |= answers
        half_open = known.phase == "tcp" and not known.is_answered
        known.ends_s = self.now_s + TIMEOUTS_S["opening" if half_open else known.phase]


def _tcp_state(known: Connection, flags: int, answers: bool) -> str | None:
    """Say what flags make of a packet; None: nothing."""
    opening = known.phase == "opening" and not known.is_answered
    if known.phase == "closed" and flags == SYN and (not answers or len(known.fins) == 2):
        return NEW
    if answers:
        return INVALID if flags == (FIN | ACK if opening else SYN) else None
    wrong = flags == SYN | ACK or (opening and flags in (ACK, FIN | ACK))
    return INVALID if wrong else None


def _sender(packet: Packet) -> tuple[int, int]:
    return (packet.source, packet.sport if packet.protocol in (TCP, UDP) else 0)


def _request(packet: Packet) -> int | None:
    """Find the type that asks for what this one answers, or that asks itself."""
    return REQUESTS.get(packet.icmp_type) if packet.protocol in (ICMP, ICMPV6) else None


def _key(packet: Packet) -> object:
    if packet.protocol in (ICMP, ICMPV6):
        request = _request(packet)
        if request is None:
            return None
        ends = (packet.source, packet.destination)
        asked = ends if packet.icmp_type == request else ends[::-1]
        return (packet.protocol, request, packet.icmp_code, asked, packet.icmp_id)
    if (packet.family, packet.protocol) == (6, NOTHING):
        return None
    ports = (packet.sport, packet.dport) if packet.protocol in (TCP, UDP) else (0, 0)
    ends = frozenset([(packet.source, ports[0]), (packet.destination, ports[1])])
    return (packet.protocol, ends)


def _is_sound(packet: Packet) -> bool:
    n_bytes = len(packet.upper)
    if packet.protocol == TCP:
        return n_bytes >= 20 and packet.flags & ~8 in SOUND
    if packet.protocol == UDP:
        return n_bytes >= 12
    return n_bytes >= 8 or packet.protocol not in (ICMP, ICMPV6)
