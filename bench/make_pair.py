"""Write a synthetic pair of captures as a DPDK forwarder's between two optical taps looks.

Classic pcap, little endian, nanoseconds; 100-byte Ethernet/IPv4/UDP frames of 10 sources. A u32
identifier at offset 42 steps by 1, the IP identification is its low 16 bits. Latency lies on a
grid of 12.5 ns: median 3175 ns, levels at 3.2, 3.4 and 4.1 us, at most 4275 ns. What happened to
the packets, by docs/matching.md, is printed as JSON.

variants:
  plain       every packet comes back, in order
  lossy       0.1 % of the packets are lost
  duplicates  0.01 % come back twice; 3 ingress frames, and one of each million, repeat the key of
              the frame before them
  reordered   0.1 % are held back until the packet behind them has left
  scrambled   the egress file is written with frames up to 3 places away from where their time
              stamps belong
  mixed       all of it
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from taut.core.errors import TautError
from taut.core.units import parse_rate

Integers = npt.NDArray[np.int64]

FRAME_LEN = 100
RECORD_LEN = 16 + FRAME_LEN
FILE_HEADER = bytes.fromhex("4d3cb2a1 0200 0400 00000000 00000000 00000400 01000000")
# MACs (the last byte of the first differs by side), IPv4 to 192.168.1.2, UDP 1024 to 53. Zero:
# identification, checksums, the source's last byte and the identifier.
HEAD = bytes.fromhex(
    "52540021f800 5254008d9dad 0800 4500 0056 0000 0000 4011 0000 0a000000 c0a80102"
    "0400 0035 0042 0000 00000000 5500"
)
LAST_MAC_BYTE = (0x29, 0x2A)
FIRST_IDENT = 945
FIRST_TICK = 14_576_216_500 * 2 // 25
CHUNK = 1 << 17

VARIANTS = ("plain", "lossy", "duplicates", "reordered", "scrambled", "mixed")
LOST, DUPLICATED, HELD_BACK = 1e-3, 1e-4, 1e-3
SURE_REPEATS, REPEATS_PER_MILLION = 3, 1
SCRAMBLE_PLACES = 3
COPY_NS, BEHIND_NS = 2_000, 100
MAX_NOISE_NS = 178

COUNTS = (
    *("ingress_frames", "egress_frames", "matched", "lost", "duplicates", "duplicate_keys"),
    *("ambiguous_ingress", "ambiguous_egress", "orphans", "beyond_window", "negative"),
    *("out_of_sequence", "truncated_ingress", "truncated_egress", "skipped_warmup"),
)


@dataclass(frozen=True)
class Pair:
    """What is to be written."""

    frames: int = 9_000_000
    rate_pps: float = 10_000
    seed: int = 1
    variant: str = "plain"

    def has(self, fault: str) -> bool:
        """Whether the variant plants a fault."""
        return self.variant in (fault, "mixed")


@dataclass
class Truth:
    """What became of the packets so far, and what is carried from chunk to chunk."""

    counts: Counter[str] = field(default_factory=Counter)
    latencies: Counter[int] = field(default_factory=Counter)
    last_egress_ns: int = 0
    max_pos: int = -1

    def document(self) -> dict[str, Any]:
        """Give the counts under match.json's names, and the exact latencies."""
        values = sorted(self.latencies)
        ranks = np.cumsum([self.latencies[value] for value in values])
        n = self.counts["matched"]
        latency: dict[str, Any] = {"n": n}
        if n > 0:
            total = sum(value * count for value, count in self.latencies.items())
            latency |= {"min": values[0], "mean": total / n, "max": values[-1]}
            for per_million in (500_000, 900_000, 990_000, 999_000, 999_900, 999_990, 999_999):
                rank = -(-n * per_million // 1_000_000)
                at = int(np.searchsorted(ranks, rank))
                latency[f"p{per_million / 10_000:g}"] = values[at]
        return {"counts": {name: self.counts[name] for name in COUNTS}, "latency_ns": latency}


def make_pair(ingress: Path, egress: Path, pair: Pair) -> dict[str, Any]:
    """Write both files, in memory of one chunk; give what became of the packets."""
    rng = np.random.default_rng(pair.seed)
    truth = Truth()
    sources = (_template(0), _template(1))
    repeats = _repeats(rng, pair)
    with ingress.open("wb") as into, egress.open("wb") as out_of:
        for file in (into, out_of):
            file.write(FILE_HEADER)
        for first, ts_ns in _departures(rng, pair):
            pos = np.arange(first, first + ts_ns.size)
            repeated = repeats[(repeats >= first) & (repeats < first + ts_ns.size)]
            ident = FIRST_IDENT + pos
            ident[repeated - first] -= 1
            into.write(_records(sources[0], ident, ts_ns))
            came, came_ns = _through_device(rng, pair, ts_ns, truth)
            out_of.write(_records(sources[1], ident[came], came_ns))
            _count(truth, repeated - first, first, ts_ns, came, came_ns)
    return truth.document()


# Time


def _departures(rng: np.random.Generator, pair: Pair) -> Iterator[tuple[int, Integers]]:
    """Give the position of each chunk's first frame and the chunk's time stamps."""
    interval_ns = 1e9 / pair.rate_pps
    noise_ns = min(MAX_NOISE_NS, interval_ns / 8)
    for first in range(0, pair.frames, CHUNK):
        n = min(CHUNK, pair.frames - first)
        noise = np.clip(rng.standard_normal(n, np.float32) * noise_ns, -3 * noise_ns, 3 * noise_ns)
        ns = np.arange(first, first + n) * interval_ns + noise
        yield first, _ns(FIRST_TICK + (ns // 12.5).astype(np.int64))


def _ns(ticks: Integers) -> Integers:
    """Round ticks of 12.5 ns."""
    ns: Integers = (25 * ticks + 1) // 2
    return ns


@cache
def _latency_table() -> Integers:
    """Give 65536 latencies in ticks of 12.5 ns, one of which each packet takes."""
    rng = np.random.default_rng(0)
    n_slow, n_second = 52, 2_000
    usual = np.clip(rng.normal(253.9, 2, (1 << 16) - n_slow - n_second), 247, 262)
    second = np.clip(rng.normal(267, 2.2, n_second), 258, 275)
    slow = rng.uniform(313, 336, n_slow)
    slow[0] = 342
    ticks: Integers = np.rint(np.concatenate([usual, second, slow])).astype(np.int64)
    return ticks


def _through_device(
    rng: np.random.Generator, pair: Pair, ts_ns: Integers, truth: Truth
) -> tuple[Integers, Integers]:
    """Give the egress frames of a chunk in the order of the file: whose they are, and when."""
    n = ts_ns.size
    ticks = ts_ns * 2 // 25 + _latency_table()[rng.integers(0, 1 << 16, n, np.uint16)]
    # Frames leave in the order they came, the last of the chunk at the end: chunks do not mix.
    left_ns = np.maximum.accumulate(np.maximum(_ns(ticks), truth.last_egress_ns))
    end_ns = truth.last_egress_ns = int(left_ns[-1])
    came = np.arange(n)
    if pair.has("reordered"):
        held = np.flatnonzero(rng.random(n - 1, np.float32) < HELD_BACK)
        left_ns[held] = np.minimum(left_ns[held + 1] + BEHIND_NS, end_ns)
    if pair.has("lossy"):
        came = np.flatnonzero(rng.random(n, np.float32) >= LOST)
    came_ns = left_ns[came]
    if pair.has("duplicates"):
        again = came[rng.random(came.size, np.float32) < DUPLICATED]
        came = np.concatenate([came, again])
        came_ns = np.concatenate([came_ns, np.minimum(left_ns[again] + COPY_NS, end_ns)])
    order = np.argsort(came_ns, kind="stable")
    if pair.has("scrambled"):
        places = np.arange(came.size) + rng.integers(0, SCRAMBLE_PLACES + 1, came.size)
        order = order[np.argsort(places, kind="stable")]
    return came[order], came_ns[order]


def _repeats(rng: np.random.Generator, pair: Pair) -> Integers:
    """Choose the frames that repeat the key of the one before: none of a chunk's first two."""
    if not pair.has("duplicates") or pair.frames < 64:
        return np.empty(0, np.int64)
    n = SURE_REPEATS + pair.frames * REPEATS_PER_MILLION // 1_000_000
    chosen = np.unique(rng.integers(0, pair.frames // 4, n)) * 4 + 2
    return chosen[chosen < pair.frames]


# Bytes


def _template(side: int) -> npt.NDArray[np.uint8]:
    """Give one chunk of records, of which only what differs is written again."""
    head = bytearray(HEAD + bytes(FRAME_LEN - len(HEAD)))
    head[5] = LAST_MAC_BYTE[side]
    record = bytes(8) + FRAME_LEN.to_bytes(4, "little") * 2 + head
    # Twice a chunk: some frames come back twice.
    return np.tile(np.frombuffer(record, np.uint8), (2 * CHUNK, 1))


def _records(template: npt.NDArray[np.uint8], ident: Integers, ts_ns: Integers) -> memoryview:
    """Write the fields of some records into the template; give their bytes."""
    records = template[: ident.size]
    words, shorts = records.view("<u4"), records.view(">u2")
    words[:, 0], words[:, 1] = np.divmod(ts_ns, 1_000_000_000)
    source = (ident + 1) % 10 + 10
    low, high = ident & 0xFFFF, ident >> 16
    swapped = [(half & 0xFF) << 8 | half >> 8 for half in (low, high)]
    shorts[:, 17] = low
    # Sums of what is constant; of the pseudo-header and the payload for UDP (RFC 768).
    shorts[:, 20] = _checksum(0x4500 + 0x56 + 0x4011 + 0x0A00 + 0xC0A8 + 0x0102 + low + source)
    constant = 0x0A00 + 0xC0A8 + 0x0102 + 17 + 0x42 + 0x0400 + 0x35 + 0x42 + 0x5500
    shorts[:, 28] = _checksum(constant + source + swapped[0] + swapped[1])
    shorts[:, 29], shorts[:, 30] = swapped
    records[:, 45] = source
    return records.data.cast("B")


def _checksum(sums: Integers) -> Integers:
    """RFC 1071, of sums below 2^32 that are not 0."""
    folded = (sums & 0xFFFF) + (sums >> 16)
    folded = (folded & 0xFFFF) + (folded >> 16)
    return 0xFFFF - folded


# Truth


def _count(
    truth: Truth, repeated: Integers, first: int, ts_ns: Integers, came: Integers, came_ns: Integers
) -> None:
    """Judge the frames of a chunk: all that matters to one is in the same chunk."""
    ambiguous = np.zeros(ts_ns.size, bool)
    ambiguous[repeated] = ambiguous[repeated - 1] = True
    times = np.bincount(came, minlength=ts_ns.size)
    is_matched = ~ambiguous[came]
    # Of frames that came twice, which are few, only the first in the file is matched.
    twice = np.flatnonzero(times[came] > 1)
    _, firsts = np.unique(came[twice], return_index=True)
    is_matched[np.delete(twice, firsts)] = False
    pos = came[is_matched] + first
    before = np.maximum.accumulate(np.concatenate([[truth.max_pos], pos]))
    latency_ns = came_ns[is_matched] - ts_ns[came[is_matched]]

    counts = truth.counts
    counts["ingress_frames"] += ts_ns.size
    counts["egress_frames"] += came.size
    counts["matched"] += pos.size
    counts["lost"] += int(np.count_nonzero((times == 0) & ~ambiguous))
    counts["duplicate_keys"] += repeated.size
    counts["ambiguous_ingress"] += int(np.count_nonzero(ambiguous))
    counts["ambiguous_egress"] += int(np.count_nonzero(ambiguous[came]))
    counts["duplicates"] += came.size - pos.size - int(np.count_nonzero(ambiguous[came]))
    counts["negative"] += int(np.count_nonzero(latency_ns < 0))
    counts["out_of_sequence"] += int(np.count_nonzero(pos < before[:-1]))
    truth.max_pos = int(before[-1])
    values, occurred = np.unique(latency_ns, return_counts=True)
    for value, count in zip(values.tolist(), occurred.tolist(), strict=True):
        truth.latencies[value] += count


def main() -> None:
    """Write one pair and print what is in it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ingress", type=Path)
    parser.add_argument("egress", type=Path)
    parser.add_argument("--frames", type=int, default=9_000_000, help="default: 9000000")
    parser.add_argument("--rate", default="10kpps", help="default: 10kpps")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--variant", choices=VARIANTS, default="plain")
    options = parser.parse_args()
    try:
        # On the wire a frame has its FCS as well.
        rate_pps = parse_rate(options.rate).pps(FRAME_LEN + 4)
    except TautError as error:
        sys.exit(f"make_pair: {error}")
    if not 1 <= rate_pps <= 10_000_000 or not 0 < options.frames <= 4_000_000_000:
        sys.exit("make_pair: give a rate from 1pps to 10Mpps, and 1 to 4000000000 frames")
    pair = Pair(options.frames, rate_pps, options.seed, options.variant)
    print(json.dumps(make_pair(options.ingress, options.egress, pair), indent=1))


if __name__ == "__main__":
    main()
