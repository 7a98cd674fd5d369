"""Write what the fuzzers begin with: small sound captures, keys, frames, rules, pages of a trace.

python devtools/fuzz_seeds.py DIR writes a folder DIR/TARGET for each target of devtools/fuzz.
The first byte of each file is the target's own choice (dataplane/fuzz).
"""

import struct
import sys
from pathlib import Path

import numpy as np

from taut.records.layout import PACKET

UDP_FRAME = bytes.fromhex(
    "020000000002020000000001080045000056000140004011265e0a0000010a0000020400003500420000"
) + bytes(range(58))
VLAN_FRAME = UDP_FRAME[:12] + bytes.fromhex("8100000a") + UDP_FRAME[12:]
IPV6_FRAME = UDP_FRAME[:12] + bytes.fromhex("86dd6000000000141140") + bytes(32) + UDP_FRAME[34:]
# Addresses, neighbours, routes.
ROUTER_FILES = b"""192.0.2.254/24 dev 0
2001:db8::ff/64 dev 1
dev 0 address 02:00:00:00:0a:00
\xff192.0.2.1 dev 0 lladdr 02:00:00:00:00:01 REACHABLE
2001:db8::1 dev 1 lladdr 02:00:00:00:00:02 router nud permanent
\xffdefault via 192.0.2.1 dev 0 proto static metric 100 # all else
10.0.0.0/8 via 192.0.2.1 src 192.0.2.254
blackhole 10.1.0.0/16
unreachable 10.2.0.0/15 metric 7
prohibit 2001:db8:a::/48
2001:db8:b::/48 via 2001:db8::1 dev 1 pref medium
198.51.100.7 dev 2 scope link
"""
SHORT = bytes(range(14))  # in a small file a mutation often hits a length
RULE_LINES = [
    'iifname "port0" ip saddr { 10.0.0.0/8, 192.0.2.1-192.0.2.9 } ip daddr != 10.1.2.3 accept',
    "ip6 saddr 2001:db8::/32 ip6 daddr != ::1 tcp dport { 22, 80-443 } counter drop",
    'tcp flags syn / fin,syn,rst,ack ct state new,established accept comment "two words"',
    "meta nfproto ipv6 meta l4proto { tcp, 17 } th sport != 1024-65535 drop",
    "icmp type { echo-request, 0 } ct state { related, invalid } accept",
    "icmpv6 type nd-neighbor-solicit ct state untracked accept",
]
RULES = (
    "add table inet t\nadd chain inet t c { type filter hook forward priority 0; policy drop; }\n"
    + "".join(f"add rule inet t c {line}\n" for line in RULE_LINES)
)
FRAMES = [UDP_FRAME, VLAN_FRAME, IPV6_FRAME, UDP_FRAME[:60]]


def main() -> int:
    """Write all seeds below the folder named on the command line."""
    root = Path(sys.argv[1])
    save(root / "fuzz_pcap", [bytes([i]) + pcap(i % 2 == 1, FRAMES) for i in range(6)])
    save(root / "fuzz_pcap", [bytes([i]) + pcap(i % 2 == 1, [SHORT]) for i in range(6)], "short")
    save(root / "fuzz_pcapng", [bytes([i]) + pcapng("><"[i], FRAMES, [1, 113]) for i in (0, 1)])
    save(
        root / "fuzz_pcapng", [bytes([i]) + pcapng("><"[i], [SHORT], [1]) for i in (0, 1)], "short"
    )
    texts = [b"26-33,42-45\n", b"14-15/0fff,26-33\n", b"default\n", b"probe\n"]
    keys = [bytes([choice, 0]) + frame for choice in (0, 1, 2) for frame in FRAMES]
    keys += [bytes([3, 4]) + text + frame for text in texts for frame in FRAMES]
    save(root / "fuzz_key", keys)
    pairs = [bytes([17 * choice]) + frames_in_and_out(8) for choice in range(16)]
    ends = b"".join(struct.pack("<Bq", 0x20 | op, end) for op, end in ENDS_OF_TIME)
    save(root / "fuzz_results", [*pairs, b"\xc3" + ends])
    save(root / "fuzz_count", [bytes([i]) + packet_records(12) for i in range(0, 64, 8)])
    save(root / "fuzz_routing", [ROUTER_FILES, ROUTER_FILES.split(b"\xff")[2]])
    save(root / "fuzz_trace", [bytes([i]) + trace_page(i == 0) for i in (0, 1)])
    save(root / "fuzz_rules", [RULES.encode(), *(f"{line}\n".encode() for line in RULE_LINES)])
    for target in ("fuzz_firewall", "fuzz_router"):
        save(root / target, [bursts(frames) for frames in nf_frames()])
    return 0


def packet_records(n: int) -> bytes:
    """Give packets of both directions, every fifth one lost, and each third one written late."""
    i = np.arange(n)
    due_tsc = (1 << 62) + 1000 * i
    records = np.zeros(n, PACKET)
    records["seq"] = i // 2
    records["due_tsc"] = due_tsc
    records["sent_tsc"] = due_tsc + 7
    records["received_tsc"] = np.where(i % 5 == 4, 0, due_tsc + 300 + i)
    records["arrival_window"] = 9
    records["frame_len"] = 64
    records["direction"] = i % 2
    return records[np.argsort(i + 4 * (i % 3 == 0), kind="stable")].tobytes()


# Key 1 in and out, then key 2: from one end of time to the other.
ENDS_OF_TIME = [(2, -(2**63)), (3, 2**63 - 1), (4, 2**63 - 1), (5, -(2**63))]


def frames_in_and_out(n: int) -> bytes:
    """Return n frames in and out again, a few nanoseconds apart, for the matcher's results."""
    return b"".join(
        bytes([side | (1 + i % 7) << 1, 5 + i + side]) for i in range(n) for side in (0, 1)
    )


def bursts(frames: list[bytes]) -> bytes:
    """Return frames as the targets of network functions cut them: two bursts, from either port."""
    heads = [len(frame) | (i % 4 // 2 * 0xC000) for i, frame in enumerate(frames)]
    return b"".join(struct.pack("<H", head) + f for head, f in zip(heads, frames, strict=True))


def nf_frames() -> list[list[bytes]]:
    """Return conversations: TCP there and back, echo and error, IPv6 behind other headers."""
    syn, ack = (struct.pack(">HHIIBBHHH", 1024, 80, 1, 1, 80, f, 9, 0, 0) for f in (2, 18))
    asks, answers = ((0x0A000001, 0xC0000201), (0xC0000201, 0x0A000001))
    echo, reply = (struct.pack(">BBHHH", kind, 0, 0, 1, 1) for kind in (8, 0))
    udp = struct.pack(">HHHHI", 1024, 53, 12, 0, 0)
    dying = ipv4(17, udp, asks, ttl=1)
    return [
        [ipv4(6, syn, asks), ipv4(6, syn, asks), ipv4(6, ack, answers), ipv4(6, syn, asks)],
        [ipv4(1, echo, asks), ipv4(1, echo, asks), ipv4(1, reply, answers)],
        [dying, ipv4(17, udp, asks, options=b"\x83\x03\x04\x01"), dying[:40]],
        [ipv4(1, bytes([11]) + bytes(7) + dying[14:], answers), ipv4(17, udp, asks, fragment=1)],
        [ipv6(17, udp), ipv6(0, bytes([17, 0, 1, 4, 0, 0, 0, 0]) + udp)],
        [ipv6(58, bytes([128, 0]) + bytes(6)), ipv6(44, bytes([17, 0, 0, 9]) + bytes(4) + udp)],
        [ipv6(58, bytes([1, 0]) + bytes(6) + ipv6(17, udp)[14:]), VLAN_FRAME],
    ]


NF_ETHERNET = bytes.fromhex("020000000a00020000000001")


def ipv4(
    protocol: int,
    body: bytes,
    ends: tuple[int, int],
    ttl: int = 64,
    options: bytes = b"",
    fragment: int = 0,
) -> bytes:
    """Return a frame to the router's port, its sum right."""
    n_bytes = 20 + len(options)
    lengths = (0x40 | n_bytes // 4, 0, n_bytes + len(body), 1, fragment, ttl, protocol)
    header = struct.pack(">BBHHHBBHII", *lengths, 0, *ends) + options
    total = sum(struct.unpack(f">{n_bytes // 2}H", header))
    total = ~(total + (total >> 16)) & 0xFFFF
    return NF_ETHERNET + b"\x08\0" + header[:10] + struct.pack(">H", total) + header[12:] + body


def ipv6(following: int, body: bytes) -> bytes:
    """Return a frame to the router's port, from a neighbour to a network behind it."""
    ends = bytes.fromhex("20010db80001" + "00" * 9 + "01" + "20010db8000a" + "00" * 9 + "09")
    header = struct.pack(">IHBB", 6 << 28, len(body), following, 64)
    return NF_ETHERNET + b"\x86\xdd" + header + ends + body


def trace_page(is_wide: bool) -> bytes:
    """Return a page of the kernel's ring buffer with one event of each kind the target knows."""
    common = "<HBBi"
    irq = struct.pack(common + "iI8s", 1, 0, 0, 7, 24, 16 | 8 << 16, b"virtio0")
    switch = struct.pack(common + "16siiq16sii", 2, 0, 0, 7, b"a", 7, 120, 1, b"b", 8, 120)
    mask = struct.pack(common + "I4xQQ4s", 3, 0, 0, 7, 32 | 4 << 16, 1, 2, b"\4\0\0\0")
    data = b""
    for event in (irq, switch, mask):
        data += struct.pack("<I", 10 << 5 | len(event) // 4) + event
    data += struct.pack("<II", 3 << 5 | 30, 1)  # a larger step of time
    data += struct.pack("<II", 5 << 5, 4 + 60) + bytes(60)  # a length of its own
    return struct.pack("<QQ" if is_wide else "<QI", 1000, len(data)) + data


def save(folder: Path, seeds: list[bytes], name: str = "seed") -> None:
    """Write one file a seed."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds):
        (folder / f"{name}-{number}").write_bytes(seed)


def pcap(is_swapped: bool, frames: list[bytes]) -> bytes:
    """Return a pcap file of each frame twice, the second snapped."""
    order = ">" if is_swapped else "<"
    out = struct.pack(order + "IHHiIII", 0, 2, 4, 0, 0, 262144, 1)
    for number, frame in enumerate(frames * 2):
        cap_len = len(frame) - (4 if number >= len(frames) else 0)
        out += struct.pack(order + "IIII", 1000, number * 10, cap_len, len(frame)) + frame[:cap_len]
    return out


def pcapng(order: str, frames: list[bytes], link_types: list[int]) -> bytes:
    """Return a pcapng file: every kind of block, or for one frame only the ones it needs."""
    out = block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    resolution = struct.pack(order + "HHB3x", 9, 1, 9)
    offset = struct.pack(order + "HHq", 14, 8, 1_700_000_000)
    for link_type in link_types:
        body = struct.pack(order + "HHI", link_type, 0, 0)
        out += block(order, 1, body + resolution + offset)
    for number, frame in enumerate(frames):
        lengths = struct.pack(order + "II", len(frame), len(frame))
        stamp = struct.pack(order + "II", 0, number * 10)
        if len(frames) > 1:
            out += block(order, 2, struct.pack(order + "HH", 0, 0) + stamp + lengths + frame)
            out += block(order, 3, struct.pack(order + "I", len(frame)) + frame)
            out += block(order, 5, struct.pack(order + "III", 0, 0, 0))
        interface = struct.pack(order + "I", number % len(link_types))
        out += block(order, 6, interface + stamp + lengths + frame)
    return out


def block(order: str, kind: int, body: bytes) -> bytes:
    """Frame a block's body with its type and both lengths."""
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + length + body + length


if __name__ == "__main__":
    sys.exit(main())
