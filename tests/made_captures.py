"""Capture files made up for tests, in pure Python: nothing of taut takes part.

A Frame is Ethernet/IPv4/UDP made from an identifier: equal identifiers (and lengths) have equal
default keys (docs/matching.md), whatever the side; MAC addresses and checksums differ by side. A
MadePair is two files; the functions that plant faults in it say in `truth` what they planted.
"""

import gzip
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from taut.capture.frames import FRAME_SCHEMA

KEY_NEEDS_BYTES = 64


class Frame(NamedTuple):
    """A frame as a capture file holds it: snapped when it has fewer bytes than the wire had."""

    ts_ns: int
    data: bytes
    wire_len: int


def frame_bytes(ident: int, frame_len: int = 100, side: int = 0) -> bytes:
    """Give a frame of one packet; the identifier stands at offset 42, little endian."""
    macs = bytes([2, 0, 0, 0, side, 1, 2, 0, 0, 0, side, 2])
    ip_len, udp_len = frame_len - 14, frame_len - 34
    ip = struct.pack(">BBHHHBBH", 0x45, 0, ip_len, ident & 0xFFFF, 0, 64, 17, 0x1111 * (side + 1))
    addresses = bytes([10, 0, 0, ident % 10, 10, 0, 1, 1])
    udp = struct.pack(">HHHH", 1024, 53, udp_len, 0x2222 * (side + 1))
    head = macs + b"\x08\x00" + ip + addresses + udp + struct.pack("<I", ident)
    return head + bytes(frame_len - len(head))


def made_frame(
    ts_ns: int, ident: int, side: int = 0, frame_len: int = 100, cap_len: int | None = None
) -> Frame:
    """Make one frame, snapped to cap_len."""
    return Frame(ts_ns, frame_bytes(ident, frame_len, side)[:cap_len], frame_len)


def default_key(frame: Frame) -> bytes | None:
    """Give the default key of a frame made here: untagged IPv4 without options, UDP."""
    if len(frame.data) < min(KEY_NEEDS_BYTES, frame.wire_len):
        return None
    data = bytearray(frame.data[:KEY_NEEDS_BYTES])
    data[24:26] = data[40:42] = b"\0\0"
    return bytes(data[12:])


def frames_table(frames: Sequence[Frame]) -> pa.Table:
    """Give the rows an engine matches."""
    ts_ns = np.array([frame.ts_ns for frame in frames], np.int64)
    return pa.table(
        [
            np.arange(len(frames)),
            ts_ns,
            np.maximum.accumulate(ts_ns),
            pa.array([default_key(frame) for frame in frames], pa.binary()),
            np.array([frame.wire_len for frame in frames], np.int32),
        ],
        schema=FRAME_SCHEMA,
    )


# Files


def with_fcs(frames: Iterable[Frame]) -> list[Frame]:
    """Give whole frames as they are on the wire: behind each its frame check sequence."""
    return [
        Frame(f.ts_ns, f.data + struct.pack("<I", zlib.crc32(f.data)), f.wire_len + 4)
        for f in frames
    ]


FCS_DECLARED = 0x24000000
"""In the link type of a pcap: its frames hold two words of FCS."""


def pcap_bytes(
    frames: Iterable[Frame], order: str = "<", ticks_per_s: int = 10**9, link_type: int = 1
) -> bytes:
    """Classic pcap; microsecond files (10**6) round down."""
    magic = {10**9: 0xA1B23C4D, 10**6: 0xA1B2C3D4}[ticks_per_s]
    parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262144, link_type)]
    for frame in frames:
        seconds, ns = divmod(frame.ts_ns, 10**9)
        fraction = ns * ticks_per_s // 10**9
        parts.append(
            struct.pack(order + "IIII", seconds, fraction, len(frame.data), frame.wire_len)
        )
        parts.append(frame.data)
    return b"".join(parts)


@dataclass(frozen=True)
class Interface:
    """A pcapng interface: how it writes time (if_tsresol, if_tsoffset), to 1 ns or finer."""

    tsresol: int = 9  # 10^-9 s; with the highest bit set a power of 2
    tsoffset_s: int = 0

    @property
    def ticks_per_s(self) -> int:
        power = self.tsresol & 0x7F
        return 2**power if self.tsresol & 0x80 else 10**power


def pcapng_bytes(
    frames: Iterable[Frame], order: str = "<", interfaces: Sequence[Interface] = (Interface(),)
) -> bytes:
    """pcapng with one section; frames take turns over the interfaces."""
    parts = [_block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))]
    for interface in interfaces:
        options = struct.pack(order + "HHB3x", 9, 1, interface.tsresol)
        options += struct.pack(order + "HHq", 14, 8, interface.tsoffset_s) + bytes(4)
        parts.append(_block(order, 1, struct.pack(order + "HHI", 1, 0, 262144) + options))
    for index, frame in enumerate(frames):
        turn = index % len(interfaces)
        of_file_ns = frame.ts_ns - interfaces[turn].tsoffset_s * 10**9
        # Rounded up: a reader that rounds down to nanoseconds gets the same one back.
        ticks = -(-of_file_ns * interfaces[turn].ticks_per_s // 10**9)
        head = (turn, ticks >> 32, ticks & 0xFFFFFFFF, len(frame.data), frame.wire_len)
        padding = bytes(-len(frame.data) % 4)
        parts.append(_block(order, 6, struct.pack(order + "5I", *head) + frame.data + padding))
    return b"".join(parts)


def statistics_block(dropped: int, order: str = "<") -> bytes:
    """What dumpcap writes at the end of a pcapng: interface 0 dropped so many (isb_ifdrop)."""
    head = struct.pack(order + "III", 0, 0, 0)
    return _block(order, 5, head + struct.pack(order + "HHQ", 5, 8, dropped) + bytes(4))


def simple_packet_block(frame: Frame, order: str = "<") -> bytes:
    """A packet without a time stamp, which taut passes over."""
    padding = bytes(-len(frame.data) % 4)
    return _block(order, 3, struct.pack(order + "I", frame.wire_len) + frame.data + padding)


def _block(order: str, kind: int, body: bytes) -> bytes:
    length = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + length + body + length


def write_capture(path: Path, content: bytes) -> Path:
    """Write a file, compressed as its name says (.gz, .zst)."""
    if path.suffix == ".gz":
        # As little as there is: the highest level, pyarrow's, takes ten times as long.
        path.write_bytes(gzip.compress(content, 1))
        return path
    compression = "zstd" if path.suffix == ".zst" else None
    with pa.output_stream(path, compression=compression) as file:
        file.write(content)
    return path


def read_pcap(path: Path) -> list[Frame]:
    """Read a classic pcap, of either byte order, resolution and compression."""
    compression = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix)
    with pa.input_stream(path, compression=compression) as file:
        content = file.read()
    order = "<" if content[0] in (0x4D, 0xD4) else ">"
    ns_per_tick = 1 if struct.unpack_from(order + "I", content)[0] == 0xA1B23C4D else 1000
    frames, at = [], 24
    while at < len(content):
        seconds, fraction, cap_len, wire_len = struct.unpack_from(order + "IIII", content, at)
        data = content[at + 16 : at + 16 + cap_len]
        frames.append(Frame(seconds * 10**9 + fraction * ns_per_tick, data, wire_len))
        at += 16 + cap_len
    return frames


# The same frames in every format taut reads: file name and content. All but `microsecond` keep
# each time stamp to the nanosecond.
FORMATS: dict[str, tuple[str, Callable[[Iterable[Frame]], bytes]]] = {
    "pcap": ("a.pcap", pcap_bytes),
    "big_endian": ("a.pcap", lambda frames: pcap_bytes(frames, ">")),
    "microsecond": ("a.pcap", lambda frames: pcap_bytes(frames, "<", 10**6)),
    "gzip": ("a.pcap.gz", pcap_bytes),
    "zstd": ("a.pcap.zst", pcap_bytes),
    "pcapng": ("a.pcapng", pcapng_bytes),
    "pcapng_big_endian": ("a.pcapng", lambda frames: pcapng_bytes(frames, ">")),
    "pcapng_interfaces": (
        "a.pcapng.zst",
        lambda frames: pcapng_bytes(
            frames, "<", (Interface(), Interface(12, -7), Interface(0x80 | 34))
        ),
    ),
}


def write_as(folder: Path, name: str, frames: Sequence[Frame], stem: str = "a") -> Path:
    """Write frames in one of FORMATS."""
    file_name, content = FORMATS[name]
    return write_capture(folder / file_name.replace("a", stem, 1), content(frames))


# Pairs with planted faults


@dataclass
class MadePair:
    """Two files in the making. Each fault takes packets that no other fault has touched."""

    ingress: list[Frame]
    egress: list[Frame]
    gap_ns: int
    free: list[int]  # identifiers, a distance apart that keeps faults from meeting
    truth: Counter[str] = field(default_factory=Counter)

    def take(self, n: int) -> list[int]:
        taken, self.free = self.free[:n], self.free[n:]
        assert len(taken) == n, "too few packets for so many faults"
        return taken


def made_pair(n: int, *, latency_ns: int = 3175, gap_ns: int = 100_000, seed: int = 1) -> MadePair:
    """n packets at a constant rate, each through the device in the same time."""
    ingress = [made_frame(10**9 + i * gap_ns, i) for i in range(n)]
    egress = [made_frame(frame.ts_ns + latency_ns, i, 1) for i, frame in enumerate(ingress)]
    free = np.random.default_rng(seed).permutation(np.arange(16, n - 16, 16)).tolist()
    truth = Counter(ingress_frames=n, egress_frames=n, matched=n)
    return MadePair(ingress, egress, gap_ns, free, truth)


def _ident(frame: Frame) -> int:
    return int.from_bytes(frame.data[42:46], "little")


def _where(frames: list[Frame], ident: int) -> int:
    return next(at for at, frame in enumerate(frames) if _ident(frame) == ident)


def _later(pair: MadePair, ident: int, by_ns: int) -> None:
    at = _where(pair.egress, ident)
    frame = pair.egress.pop(at)
    pair.egress.append(frame._replace(ts_ns=frame.ts_ns + by_ns))
    pair.egress.sort(key=lambda frame: frame.ts_ns)


def plant_loss(pair: MadePair, n: int) -> None:
    """The device eats them."""
    for ident in pair.take(n):
        del pair.egress[_where(pair.egress, ident)]
    pair.truth.update(lost=n, matched=-n, egress_frames=-n)


def plant_duplicates(pair: MadePair, n: int) -> None:
    """The device sends them twice."""
    for ident in pair.take(n):
        at = _where(pair.egress, ident)
        pair.egress.insert(at + 1, pair.egress[at]._replace(ts_ns=pair.egress[at].ts_ns + 10))
    pair.truth.update(duplicates=n, egress_frames=n)


def plant_reordering(pair: MadePair, n: int) -> None:
    """The device sends them after the three packets behind them."""
    for ident in pair.take(n):
        _later(pair, ident, 3 * pair.gap_ns + pair.gap_ns // 2)
    pair.truth.update(out_of_sequence=n)


def plant_ties(pair: MadePair, n: int) -> None:
    """Egress and ingress have the same time stamp: matched, and not negative."""
    for ident in pair.take(n):
        sent_ns = pair.ingress[_where(pair.ingress, ident)].ts_ns
        at = _where(pair.egress, ident)
        pair.egress[at] = pair.egress[at]._replace(ts_ns=sent_ns)


def plant_ambiguous(pair: MadePair, n: int) -> None:
    """The same packet twice at the ingress, once at the egress."""
    for ident in pair.take(n):
        at = _where(pair.ingress, ident)
        pair.ingress.insert(at + 1, pair.ingress[at]._replace(ts_ns=pair.ingress[at].ts_ns + 10))
    pair.truth.update(matched=-n, ambiguous_ingress=2 * n, ambiguous_egress=n)
    pair.truth.update(duplicate_keys=n, ingress_frames=n)


def plant_beyond_window(pair: MadePair, n: int, window_ns: int) -> None:
    """The device keeps them for one window and a half."""
    for ident in pair.take(n):
        _later(pair, ident, 3 * window_ns // 2)
    pair.truth.update(matched=-n, lost=n, beyond_window=n)


def plant_orphans(pair: MadePair, n: int) -> None:
    """Packets of somebody else come out."""
    for ident in pair.take(n):
        at = _where(pair.egress, ident)
        pair.egress.insert(at, made_frame(pair.egress[at].ts_ns, ident + 10**6, 1))
    pair.truth.update(orphans=n, egress_frames=n)


def plant_backwards(pair: MadePair, n: int) -> None:
    """The egress file holds two neighbours in the wrong order, so that its time runs backwards."""
    for ident in pair.take(n):
        at = _where(pair.egress, ident)
        pair.egress[at : at + 2] = pair.egress[at + 1], pair.egress[at]
    pair.truth.update(out_of_sequence=n)


def plant_truncated(pair: MadePair, n: int) -> None:
    """Half are snapped at the ingress, which makes orphans; half at the egress, which loses."""
    for index, ident in enumerate(pair.take(n)):
        frames = pair.egress if index % 2 else pair.ingress
        at = _where(frames, ident)
        frames[at] = frames[at]._replace(data=frames[at].data[:60])
    n_egress = n // 2
    pair.truth.update(matched=-n, lost=n_egress, truncated_egress=n_egress)
    pair.truth.update(orphans=n - n_egress, truncated_ingress=n - n_egress)


def shift_clock(pair: MadePair, offset_ns: int) -> None:
    """The clock of the egress is offset_ns ahead; far enough behind, every latency is negative."""
    pair.egress = [frame._replace(ts_ns=frame.ts_ns + offset_ns) for frame in pair.egress]


def planted_pair(window_ns: int = 20_000_000) -> MadePair:
    """A pair with some of every fault."""
    pair = made_pair(2_000)
    for plant in (plant_loss, plant_duplicates, plant_reordering, plant_ties, plant_ambiguous):
        plant(pair, 9)
    plant_beyond_window(pair, 7, window_ns)
    # Behind those that sort the file by time.
    for plant in (plant_orphans, plant_truncated, plant_backwards):
        plant(pair, 8)
    return pair


def tangled_pair(seed: int, n: int, n_keys: int) -> tuple[list[Frame], list[Frame]]:
    """Two files of few keys whose time creeps, stands still and runs backwards: meant for windows
    of 5 to 50 ns, where every rule meets every other."""
    rng = np.random.default_rng(seed)
    files = []
    for side in (0, 1):
        times = 10_000 + np.cumsum(rng.integers(-2, 5, n))
        idents = rng.integers(0, n_keys, n)
        snapped = rng.random(n) < 0.03
        files.append(
            [
                made_frame(
                    int(ts_ns), int(ident), side, 60 + int(ident) % 3 * 20, 50 if cut else None
                )
                for ts_ns, ident, cut in zip(times, idents, snapped, strict=True)
            ]
        )
    return files[0], files[1]
