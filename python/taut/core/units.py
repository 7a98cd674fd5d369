"""Durations and rates as people write them: `10s`, `100us`, `100kpps`, `50Mbps`.

What taut prints, `1.5 µs` and `100 kpkt/s`, is read back as well.

The data plane reads the same spellings: tests/data/grammar.txt has cases that both are tested
against. Only text from outside goes through here: inside, times and rates are numbers.
"""

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from math import isclose
from typing import Literal

from taut.core.errors import InputError

Layer = Literal["l1", "l2"]

# Preamble 7, start of frame 1, inter-frame gap 12 bytes: IEEE 802.3, what a wire adds to a frame.
L1_OVERHEAD_BYTES = 20

_DURATION_NS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # the micro sign
    "μs": 1_000,  # the Greek letter, which some programs make of it
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "min": 60_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PREFIX = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]{1,12})?) *(ns|us|µs|μs|ms|s|min|m|h)")
_ZERO = re.compile(r"0+(?:\.0{1,12})?")
_MOST_NS = (1 << 63) - 1
_MOST_DIGITS = (1 << 64) - 1
# No more digits than the data plane takes (dataplane/traffic/rate.c).
_RATE_DIGITS = 15
_SHARE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,12})?) *%")
_RATE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) *([kKMG]?)(pps|pkt/s|p/s|bps|bit/s)")
DURATION_PATTERN = rf"^ *(?:{_DURATION.pattern}|{_ZERO.pattern}) *$"
RATE_PATTERN = rf"^ *{_RATE.pattern} *$"
SHARE_PATTERN = rf"^ *(?:{_SHARE.pattern}|[0-9.eE+-]+) *$"
"""For JSON Schemas: what has the form of a duration, of a rate, and of a share."""

# What the data plane can send (dataplane/traffic/rate.c): a packet a nanosecond, one in 1000 s.
_MOST_PPS = 1e9
_LEAST_PPS = 1e-3


@dataclass(frozen=True, order=True)
class Rate:
    """An offered rate, in packets or in bits per second."""

    value: float
    unit: Literal["pps", "bps"]

    def pps(self, frame_len: float, layer: Layer = "l2") -> float:
        """Packets per second for frames of `frame_len` bytes (with FCS; a mean for a mix)."""
        if self.unit == "pps":
            return float(self.value)
        overhead_bytes = L1_OVERHEAD_BYTES if layer == "l1" else 0
        return self.value / (8 * (frame_len + overhead_bytes))


def parse_duration_ns(text: str) -> int:
    """Turn `10s` or `1.5ms` into nanoseconds; only 0 needs no unit.

    InputError where it is no duration, finer than a nanosecond, or longer than 292 years.
    """
    text = text.strip(" ")
    if _ZERO.fullmatch(text):
        return 0
    match = _DURATION.fullmatch(text)
    if match is None:
        is_below = _DURATION.fullmatch(text.removeprefix("-")) is not None
        why = "below zero" if is_below else "not a number with a unit"
        raise InputError(f"duration {text!r}: {why}; write 10s, 500ms or 100us")
    ns = Decimal(match[1]) * _DURATION_NS[match[2]]
    if ns != int(ns):
        raise InputError(f"duration {text!r}: finer than a nanosecond; write a multiple of 1ns")
    if ns > _MOST_NS or int(match[1].replace(".", "")) > _MOST_DIGITS:
        raise InputError(f"duration {text!r}: too long; write a shorter one")
    return int(ns)


def parse_signed_duration_ns(text: str) -> int:
    """Turn `-1.5us` into nanoseconds: a duration, behind its sign if it has one."""
    text = text.strip(" ")
    unsigned = text[1:] if text[:1] in ("-", "+") else text
    if unsigned[:1] in (" ", "-"):
        raise InputError(f"duration {text!r}: not a sign and a duration; write 100us or -100us")
    return (-1 if text.startswith("-") else 1) * parse_duration_ns(unsigned)


def parse_share(text: str) -> float:
    """Turn `0.5%` or `0.005` into a share from 0 to 1; InputError where it is none."""
    text = text.strip(" ")
    match = _SHARE.fullmatch(text)
    try:
        share = Decimal(match[1]) / 100 if match else Decimal(text)
    except InvalidOperation:
        share = Decimal(-1)
    if not share.is_finite() or not 0 <= share <= 1:
        raise InputError(f"share {text!r}: not from 0 to 100 %; write 0.5% or 0.005")
    return float(share)


def parse_rate(text: str) -> Rate:
    """Turn `100kpps`, `100 kpkt/s` or `50Mbps` into a Rate; InputError where it is no rate."""
    number, prefix, unit = _parts(text)
    value = float(Decimal(number) * _PREFIX[prefix])
    if value <= 0:
        raise InputError(f"rate {text!r}: nothing would be sent; give a rate above 0")
    return Rate(value, unit)


def spell_rate(text: str) -> str:
    """Write a rate in the one spelling that names loads: `100 kpkt/s` becomes `100kpps`."""
    number, prefix, unit = _parts(text)
    return f"{number}{prefix.replace('K', 'k')}{unit}"


def exact_rate(text: str) -> str:
    """Write a rate as programs are handed it, without a prefix: `1.5kpps` becomes `1500pps`.

    A rate in bits stays one: in packets a second it is no decimal for most sizes of frames.
    """
    number, prefix, unit = _parts(text)
    return f"{(Decimal(number) * _PREFIX[prefix]).normalize():f}{unit}"


def offered_pps(text: str, frame_len: float, layer: Layer = "l2") -> float:
    """Give the packets per second of a rate, for frames of `frame_len` bytes.

    InputError where it is no rate, or none that can be sent: then nothing needs to be started.
    """
    pps = parse_rate(text).pps(frame_len, layer)
    if pps > _MOST_PPS:
        raise InputError(f"rate {text!r}: more than one packet a nanosecond; lower it")
    if pps < _LEAST_PPS:
        raise InputError(f"rate {text!r}: less than one packet in 1000 s; raise it")
    return pps


def _parts(text: str) -> tuple[str, str, Literal["pps", "bps"]]:
    """Take a rate apart: its number, prefix and unit."""
    match = _RATE.fullmatch(text.strip(" "))
    if match is None or sum(map(str.isdigit, match[1])) > _RATE_DIGITS:
        raise InputError(
            f"rate {text!r}: not a number with a unit; write 100kpps, 100 kpkt/s or 50Mbps "
            "(at most 15 digits, six of them decimals)"
        )
    return match[1], match[2], "pps" if match[3].startswith("p") else "bps"


def format_ns(ns: float) -> str:
    """Write a duration with three digits and the unit that fits: `1.23 µs`."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        # What would be rounded up to 1000 of a unit is one of the next.
        if abs(ns) >= 0.9995 * size:
            return f"{_three_digits(ns / size)} {unit}"
    return f"{_three_digits(ns)} ns"


def _three_digits(value: float) -> str:
    if value == int(value) and abs(value) < 1000:
        return str(int(value))
    decimals = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    return f"{value:.{decimals}f}"


def digits_of(value: float, n: int = 3, *, unlike: float | None = None) -> str:
    """Write a number with so many significant digits, in full: 0.123, 20,000, 0.00001.

    With as many more as tell it from `unlike`, where it is not that: 1.0004, 99.998.
    """
    while unlike is not None and float(f"{value:.{n}g}") == unlike and not isclose(value, unlike):
        n += 1
    text = f"{Decimal(f'{value:.{n}g}'):f}"
    return f"{float(text):,.0f}" if abs(float(text)) >= 10**n else text


def duration_words(ns: int) -> str:
    """Write a time as people plan with it: `3 min 20 s`."""
    seconds = max(1, round(ns / 1e9))
    hours, minutes, seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def length_words(ns: int) -> str:
    """Write a length as duration_words does; below a minute with three digits: `500 ms`."""
    return duration_words(ns) if ns >= 60_000_000_000 else format_ns(ns)


def bytes_words(n_bytes: float) -> str:
    """Write a size as people plan with it: `350 MB`, `1.2 GB`."""
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:,.0f} MB"
