"""Made-up frames and latencies for the search by content: a generator's stream, and disturbances.

The stream is like that of a load generator: Ethernet, IPv4, UDP, ten senders in turn, an
identifier that counts, and a payload that does not repeat. Latency is on a grid of 12.5 ns.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from taut.analysis.content import ContentSearch, FrameHeads, MatchedFrames, search_captures
from taut.analysis.content.search import MAX_PACKETS

GAP_NS = 100_000
FRAME_LEN = 100
DST_PORT = 53


@dataclass
class Stream:
    """n frames, their latencies, and the means to spoil both."""

    n: int
    seed: int = 1
    rows: npt.NDArray[np.uint8] = field(init=False)
    wire_len: npt.NDArray[np.int64] = field(init=False)
    latency_ns: npt.NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.rows = generator_frames(self.n, self.rng)
        self.wire_len = np.full(self.n, FRAME_LEN)
        noise = self.rng.normal(3200, 40, self.n) + self.rng.exponential(15, self.n)
        self.latency_ns = on_grid(noise)

    @property
    def time_ns(self) -> npt.NDArray[np.int64]:
        """A packet every 100 us."""
        return np.arange(self.n) * GAP_NS

    def pick(self, n: int) -> npt.NDArray[np.int64]:
        """Choose n packets anywhere."""
        return np.sort(self.rng.choice(self.n, n, replace=False))

    def write(self, packets: npt.NDArray[np.int64], offset: int, value: bytes) -> None:
        """Write bytes into some frames."""
        where = np.arange(offset, offset + len(value))
        self.rows[np.ix_(packets, where)] = np.frombuffer(value, np.uint8)

    def delay(self, packets: npt.NDArray[np.int64], ns: float) -> None:
        """Make some packets slower, or faster if below zero; the grid stays."""
        self.latency_ns[packets] = on_grid(self.latency_ns[packets] + ns)

    def search(self) -> ContentSearch:
        """Look for content classes."""
        heads = made_heads(self.rows, FRAME_LEN, self.wire_len)
        return find_classes(heads, self.latency_ns, self.time_ns)


def made_heads(
    rows: npt.NDArray[np.uint8],
    n_bytes: npt.NDArray[np.int64] | int,
    wire_len: npt.NDArray[np.int64] | int,
) -> FrameHeads:
    """Turn an array of one row a frame; a number stands for every frame."""
    sizes, lengths = (
        np.broadcast_to(np.asarray(n, np.int64), len(rows)) for n in (n_bytes, wire_len)
    )
    return FrameHeads(np.ascontiguousarray(rows.T), sizes, lengths)


def find_classes(
    heads: FrameHeads,
    latency_ns: npt.NDArray[np.int64],
    time_ns: npt.NDArray[np.int64],
    max_packets: int = MAX_PACKETS,
) -> ContentSearch:
    """Search one capture of which every packet was matched."""
    frames = MatchedFrames(np.arange(len(latency_ns)), time_ns, latency_ns, heads)
    return search_captures([frames], max_packets=max_packets)


def on_grid(latency_ns: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Cut to the 12.5 ns of the time stamper, in whole ns."""
    return np.floor(np.round(latency_ns / 12.5) * 12.5).astype(np.int64)


def generator_frames(n: int, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Ethernet / IPv4 / UDP of 100 bytes; identifier at 42, random bytes from 50 to 57."""
    rows = np.zeros((n, FRAME_LEN), np.uint8)
    count = np.arange(n) + int(rng.integers(0, 1 << 20))
    rows[:, :12] = np.arange(12)
    rows[:, 12:24] = np.frombuffer(bytes.fromhex("080045000056000000004011"), "u1")
    rows[:, 18], rows[:, 19] = count >> 8, count
    rows[:, 26:30] = (10, 0, 0, 10)
    rows[:, 29] += (count % 10).astype(np.uint8)
    rows[:, 30:34] = (10, 0, 1, 1)
    rows[:, 34:38] = (4, 0, 0, DST_PORT)
    rows[:, 40:42] = rng.integers(0, 256, (n, 2))
    for byte in range(4):
        rows[:, 42 + byte] = count >> (8 * byte)
    rows[:, 50:58] = rng.integers(0, 256, (n, 8))
    return rows
