"""Durations and rates as people write them: `10s`, `100us`, `100kpps`, `50Mbps`.

The data plane parses the same spellings (base/units); integers inside, text at the edge.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from taut.core.errors import InputError

Layer = Literal["l1", "l2"]

# Preamble 7, start of frame 1, inter-frame gap 12 bytes: IEEE 802.3, what a wire adds to a frame.
L1_OVERHEAD_BYTES = 20

_DURATION_NS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "min": 60_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PREFIX = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9}
_NUMBER = r"(\d+(?:\.\d+)?)"
_DURATION = re.compile(rf"{_NUMBER}\s*(ns|us|µs|ms|s|min|m|h)")
_RATE = re.compile(rf"{_NUMBER}\s*([kKMG]?)(pps|pkt/s|p/s|bps|bit/s)")


@dataclass(frozen=True, order=True)
class Rate:
    """An offered rate, in packets or in bits per second."""

    value: int
    unit: Literal["pps", "bps"]

    def pps(self, frame_len: float, layer: Layer = "l2") -> float:
        """Packets per second for frames of `frame_len` bytes (with FCS; a mean for a mix)."""
        if self.unit == "pps":
            return float(self.value)
        overhead_bytes = L1_OVERHEAD_BYTES if layer == "l1" else 0
        return self.value / (8 * (frame_len + overhead_bytes))

    def __str__(self) -> str:
        return format_rate(self.value, self.unit)


def parse_duration_ns(text: str) -> int:
    """Turn `10s` or `1.5ms` into nanoseconds; a unit is required."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise InputError(f"duration {text!r}: not a number with a unit; write 10s, 500ms or 100us")
    ns = Decimal(match[1]) * _DURATION_NS[match[2]]
    if ns != int(ns):
        raise InputError(f"duration {text!r}: finer than a nanosecond; write a multiple of 1ns")
    return int(ns)


def parse_rate(text: str) -> Rate:
    """Turn `100kpps` or `50Mbps` into a Rate."""
    match = _RATE.fullmatch(text.strip())
    if match is None:
        raise InputError(f"rate {text!r}: not a number with a unit; write 100kpps or 50Mbps")
    value = int(Decimal(match[1]) * _PREFIX[match[2]])
    if value <= 0:
        raise InputError(f"rate {text!r}: nothing would be sent; give a rate above 0")
    return Rate(value, "pps" if match[3].startswith("p") else "bps")


def format_ns(ns: float) -> str:
    """Write a duration with three digits and the unit that fits: `1.23 us`."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if abs(ns) >= size:
            return f"{_three_digits(ns / size)} {unit}"
    return f"{_three_digits(ns)} ns"


def format_rate(value: float, unit: str = "pps") -> str:
    """Write a rate as parse_rate reads it: `100kpps`."""
    for prefix, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.6g}{prefix}{unit}"
    return f"{value:.6g}{unit}"


def _three_digits(value: float) -> str:
    if value == int(value) and abs(value) < 1000:
        return str(int(value))
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
