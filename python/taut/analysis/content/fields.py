"""What is looked at: named fields of headers, then bytes and words by their place."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address

import numpy as np

from taut.analysis.content.heads import FrameHeads
from taut.analysis.content.layers import Layers, Mask, Values, shape_name


class Kind(IntEnum):
    """Kinds of description, the plainest first; each has its share of the allowed error."""

    NAMED = 0
    BYTE = 1
    WORD = 2
    LONG = 3
    COUNT = 4  # a value of a counter


@dataclass(frozen=True)
class Column:
    """One value a frame; frames not in `valid` have none (None: all have one)."""

    name: str
    kind: Kind
    values: Values
    valid: Mask | None
    show: Callable[[int], str]


def _mac(value: int) -> str:
    return value.to_bytes(6, "big").hex(":")


def _ipv4(value: int) -> str:
    return str(IPv4Address(value))


def _hex(n_digits: int) -> Callable[[int], str]:
    return lambda value: f"0x{value:0{n_digits}x}"


def _fragment(value: int) -> str:
    flags = [name for bit, name in ((0x4000, "DF"), (0x2000, "MF")) if value & bit]
    return "+".join([*flags, f"offset {8 * (value & 0x1FFF)}"])


def _tcp_flags(value: int) -> str:
    names = ("FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR")
    return "+".join(name for bit, name in enumerate(names) if value >> bit & 1) or "none"


@dataclass(frozen=True)
class _Field:
    """`width` bytes at `offset` of a layer; of these the bits of `mask`, shifted down."""

    name: str
    layer: str
    offset: int
    width: int
    show: Callable[[int], str] = str
    mask: int = -1
    shift: int = 0


# Of two fields that name the same packets the first in this table gives the class its name.
_FIELDS = (
    _Field("ethernet dst", "ethernet", 0, 6, _mac),
    _Field("ethernet src", "ethernet", 6, 6, _mac),
    _Field("vlan id", "vlan", 0, 2, mask=0x0FFF),
    _Field("vlan priority", "vlan", 0, 2, mask=0xE000, shift=13),
    _Field("inner vlan id", "inner vlan", 0, 2, mask=0x0FFF),
    _Field("inner vlan priority", "inner vlan", 0, 2, mask=0xE000, shift=13),
    _Field("ethertype", "ethertype", 0, 2, _hex(4)),
    _Field("ipv4 tos", "ipv4", 1, 1, _hex(2)),
    _Field("ipv4 dscp", "ipv4", 1, 1, mask=0xFC, shift=2),
    _Field("ipv4 header length", "ipv4", 0, 1, lambda words: f"{4 * words} bytes", mask=0x0F),
    _Field("ipv4 total length", "ipv4", 2, 2),
    _Field("ipv4 flags and offset", "ipv4", 6, 2, _fragment),
    _Field("ipv4 ttl", "ipv4", 8, 1),
    _Field("ipv4 protocol", "ipv4", 9, 1),
    _Field("ipv4 src", "ipv4", 12, 4, _ipv4),
    _Field("ipv4 dst", "ipv4", 16, 4, _ipv4),
    _Field("ipv4 id", "ipv4", 4, 2),
    _Field("ipv4 checksum", "ipv4", 10, 2, _hex(4)),
    _Field("ipv6 traffic class", "ipv6", 0, 2, _hex(2), mask=0x0FF0, shift=4),
    _Field("ipv6 flow label", "ipv6", 1, 3, _hex(5), mask=0x0FFFFF),
    _Field("ipv6 payload length", "ipv6", 4, 2),
    _Field("ipv6 next header", "ipv6", 6, 1),
    _Field("ipv6 hop limit", "ipv6", 7, 1),
    _Field("udp src port", "udp", 0, 2),
    _Field("udp dst port", "udp", 2, 2),
    _Field("udp length", "udp", 4, 2),
    _Field("udp checksum", "udp", 6, 2, _hex(4)),
    _Field("tcp src port", "tcp", 0, 2),
    _Field("tcp dst port", "tcp", 2, 2),
    _Field("tcp flags", "tcp", 13, 1, _tcp_flags),
    _Field("tcp header length", "tcp", 12, 1, lambda words: f"{4 * words} bytes", 0xF0, 4),
    _Field("tcp window", "tcp", 14, 2),
    _Field("tcp sequence number", "tcp", 4, 4),
    _Field("tcp acknowledgment", "tcp", 8, 4),
    _Field("tcp checksum", "tcp", 16, 2, _hex(4)),
)


def named_columns(heads: FrameHeads, layers: Layers) -> Iterator[Column]:
    """Give wire length, headers and every named field that occurs."""
    lengths = np.minimum(heads.wire_len, np.iinfo(np.uint32).max).astype(np.uint32)
    yield Column("wire length", Kind.NAMED, lengths, None, str)
    yield Column("headers", Kind.NAMED, layers.shape, None, shape_name)
    for field in _FIELDS:
        layer = layers.by_name[field.layer]
        if not layer.groups:
            continue
        values, valid = layer.read(field.offset, field.width)
        if field.mask != -1:
            values = (values & values.dtype.type(field.mask)) >> values.dtype.type(field.shift)
        yield Column(field.name, Kind.NAMED, values, valid, field.show)
    yield from _ipv6_addresses(layers)


def _ipv6_addresses(layers: Layers) -> Iterator[Column]:
    # An address is wider than any integer of numpy: numbered, and shown by number's bytes.
    layer = layers.by_name["ipv6"]
    for name, offset in (("ipv6 src", 8), ("ipv6 dst", 24)) if layer.groups else ():
        parts = [layer.read(offset + 4 * i, 4) for i in range(4)]
        words = np.stack([values for values, _ in parts], axis=1).astype(">u4")
        whole = np.ascontiguousarray(words).view("V16")[:, 0]
        addresses, numbers = np.unique(whole, return_inverse=True)
        yield Column(
            name, Kind.NAMED, numbers.astype(np.uint32), parts[-1][1], _ipv6_shown(addresses)
        )


def _ipv6_shown(addresses: Values) -> Callable[[int], str]:
    return lambda number: str(IPv6Address(addresses[number].tobytes()))


class Places:
    """Bytes by their place: in the headers from the frame's start, then from the payload's."""

    def __init__(self, heads: FrameHeads, layers: Layers) -> None:
        self._frame = layers.by_name["ethernet"]
        self._payload = layers.by_name["payload"]
        self._payload_start = layers.payload_start
        n_head = len(heads.columns)
        self.regions = {
            "frame": min(n_head, int(layers.payload_start.max())),
            "payload": n_head - int(layers.payload_start.min()),
        }
        """Bytes in each region."""

    def column(self, region: str, offset: int, width: int) -> Column:
        """Read 1, 2 or 4 bytes of a region."""
        if region == "payload":
            values, valid = self._payload.read(offset, width)
        else:
            values, valid = self._frame.read(offset, width)
            is_header = self._payload_start >= offset + width
            if not is_header.all():
                valid = is_header if valid is None else valid & is_header
        kind = {1: Kind.BYTE, 2: Kind.WORD, 4: Kind.LONG}[width]
        name = f"{region} byte {offset}" if width == 1 else _span(region, offset, width)
        return Column(name, kind, values, valid, _hex(2 * width))


def _span(region: str, offset: int, width: int) -> str:
    return f"{region} bytes {offset}-{offset + width - 1}"
