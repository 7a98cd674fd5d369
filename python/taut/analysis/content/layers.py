"""Where the headers of each frame start: VLAN tags and IP options shift what follows.

All frames at once: a layer is a few groups of frames in which it starts at the same offset.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from taut.analysis.content.heads import FrameHeads, Ints

Values = npt.NDArray[Any]  # unsigned, of the narrowest type that holds the field
Mask = npt.NDArray[np.bool_]

ABSENT = -1
_VLAN_TYPES = (0x8100, 0x88A8, 0x9100)
_MAX_TAGS = 4
_IPV4, _IPV6 = 0x0800, 0x86DD
_TCP, _UDP = 6, 17
_WIDTH_TYPES = {1: np.uint8, 2: np.uint16, 3: np.uint32, 4: np.uint32, 6: np.uint64}


class Layer:
    """A header that starts at `start` in each frame (ABSENT: the frame has none)."""

    def __init__(self, heads: FrameHeads, start: Ints) -> None:
        self.heads = heads
        self.groups: list[tuple[int, Ints | None]] = []
        offsets = np.unique(start)
        for offset in offsets:
            rows = None if len(offsets) == 1 else np.flatnonzero(start == offset)
            if offset != ABSENT:
                self.groups.append((int(offset), rows))

    def read(self, offset: int, width: int) -> tuple[Values, Mask | None]:
        """Return `width` big-endian bytes at `offset` of the layer, and which frames have them.

        None stands for all of them.
        """
        heads = self.heads
        values = np.zeros(len(heads), _WIDTH_TYPES[width])
        is_valid = np.zeros(len(heads), bool)
        for start, rows in self.groups:
            first, end = start + offset, start + offset + width
            if end > len(heads.columns):
                continue
            at: Any = slice(None) if rows is None else rows
            value = heads.columns[first][at].astype(values.dtype)
            for column in heads.columns[first + 1 : end]:
                value = (value << 8) | column[at]
            is_there = heads.n_bytes[at] >= end
            values[at], is_valid[at] = np.where(is_there, value, 0), is_there
        return values, None if is_valid.all() else is_valid


@dataclass(frozen=True)
class Layers:
    """The layers of all frames; `payload` is what follows the last header that was understood."""

    by_name: dict[str, Layer]
    payload_start: Ints
    shape: npt.NDArray[np.uint8]
    """A code of which headers a frame has; shape_name spells it."""


def shape_name(code: int) -> str:
    """Spell a code of Layers.shape, such as "ethernet/vlan/ipv4/udp"."""
    tags, network, transport = code >> 4, (code >> 2) & 3, code & 3
    names = ["ethernet", *["vlan"] * tags]
    names += [("other", "ipv4", "ipv6")[network]]
    names += [(), ("tcp",), ("udp",)][transport]
    return "/".join(names)


def find_layers(heads: FrameHeads) -> Layers:
    """Walk tags, network and transport headers of every frame."""
    n = len(heads)
    zero = np.zeros(n, np.int64)
    type_at, n_tags, ethertype, tags = _walk_tags(heads)
    network_at = type_at + 2
    ipv4_at, ipv6_at, transport_at, protocol = _walk_network(heads, network_at, ethertype)
    is_tcp, is_udp = (transport_at >= 0) & (protocol == _TCP), protocol == _UDP
    is_udp &= transport_at >= 0
    tcp_at = np.where(is_tcp, transport_at, ABSENT)
    data_offset, _ = Layer(heads, tcp_at).read(12, 1)
    payload_at = np.where(transport_at >= 0, transport_at, network_at)
    payload_at = np.where(is_udp, transport_at + 8, payload_at)
    payload_at = np.where(is_tcp, transport_at + np.maximum(data_offset >> 4, 5) * 4, payload_at)
    starts = {
        "ethernet": zero,
        "ethertype": type_at,
        "vlan": tags[0],
        "inner vlan": tags[1],
        "ipv4": ipv4_at,
        "ipv6": ipv6_at,
        "tcp": tcp_at,
        "udp": np.where(is_udp, transport_at, ABSENT),
        "payload": payload_at,
    }
    network = np.where(ipv4_at >= 0, 1, np.where(ipv6_at >= 0, 2, 0))
    transport = np.where(is_tcp, 1, np.where(is_udp, 2, 0))
    shape = (n_tags * 16 + network * 4 + transport).astype(np.uint8)
    by_name = {name: Layer(heads, start) for name, start in starts.items()}
    return Layers(by_name, payload_at, shape)


def _walk_tags(heads: FrameHeads) -> tuple[Ints, Ints, Values, list[Ints]]:
    """Offset of the last ethertype, number of tags, that ethertype, start of two outer tags."""
    n = len(heads)
    at, n_tags = np.full(n, 12), np.zeros(n, np.int64)
    ethertype, _ = Layer(heads, at).read(0, 2)
    starts = [np.full(n, ABSENT), np.full(n, ABSENT)]
    for depth in range(_MAX_TAGS):
        is_tag = np.isin(ethertype, _VLAN_TYPES)
        if not is_tag.any():
            break
        if depth < len(starts):
            starts[depth] = np.where(is_tag, at + 2, ABSENT)
        at = np.where(is_tag, at + 4, at)
        n_tags += is_tag
        ethertype, _ = Layer(heads, at).read(0, 2)
    return at, n_tags, ethertype, starts


def _walk_network(
    heads: FrameHeads, network_at: Ints, ethertype: Values
) -> tuple[Ints, Ints, Ints, Values]:
    """Start of IPv4, of IPv6, of what follows (ABSENT if no IP, or not its start), protocol."""
    version_ihl, _ = Layer(heads, network_at).read(0, 1)
    ipv4_at = np.where((ethertype == _IPV4) & (version_ihl >> 4 == 4), network_at, ABSENT)
    ipv6_at = np.where((ethertype == _IPV6) & (version_ihl >> 4 == 6), network_at, ABSENT)
    ipv4, ipv6 = Layer(heads, ipv4_at), Layer(heads, ipv6_at)
    fragment, _ = ipv4.read(6, 2)
    header_len = np.maximum(version_ihl & 15, 5).astype(np.int64) * 4
    is_start = (ipv4_at >= 0) & (fragment & 0x1FFF == 0)
    transport_at = np.where(is_start, network_at + header_len, ABSENT)
    transport_at = np.where(ipv6_at >= 0, network_at + 40, transport_at)
    protocol = np.where(ipv6_at >= 0, ipv6.read(6, 1)[0], ipv4.read(9, 1)[0])
    return ipv4_at, ipv6_at, transport_at, protocol
