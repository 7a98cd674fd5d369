"""Fields are read where the headers put them: behind tags, options and in both IPs."""

import numpy as np
import pytest

from made_content import made_heads
from taut.analysis.content import FrameHeads
from taut.analysis.content.counters import breaks_sequence, find_counter
from taut.analysis.content.fields import Places, named_columns
from taut.analysis.content.layers import find_layers, shape_name

MACS = bytes.fromhex("0200000000aa0200000000bb")
UDP = bytes.fromhex("0400003500100000") + b"\xc0\xff\xee"
TCP = bytes.fromhex("01bb1f90000000010000000250120fff00000000") + b"\xc0"


def ipv4(protocol: int, options: bytes = b"", fragment: int = 0x4000) -> bytes:
    head = bytes([0x45 + len(options) // 4, 0xB8, 0, 60, 0, 9]) + fragment.to_bytes(2, "big")
    return head + bytes([63, protocol, 0, 0, 10, 0, 0, 1, 192, 168, 7, 8]) + options


def ipv6(next_header: int) -> bytes:
    head = bytes.fromhex("6b812345") + bytes([0, 20, next_header, 61])
    src, dst = (bytes.fromhex("fd00" + 26 * "0" + last) for last in ("01", "02"))
    return head + src + dst


FRAMES = {
    "ethernet/ipv4/udp": MACS + b"\x08\x00" + ipv4(17) + UDP,
    "ethernet/vlan/ipv4/udp": MACS + bytes.fromhex("8100a0050800") + ipv4(17) + UDP,
    "ethernet/vlan/vlan/ipv4/tcp": MACS
    + bytes.fromhex("88a80007810060080800")
    + ipv4(6, options=bytes(8))
    + TCP,
    "ethernet/ipv6/udp": MACS + b"\x86\xdd" + ipv6(17) + UDP,
    "ethernet/other": MACS + b"\x08\x06" + b"\x00\x01\x08\x00",
    "ethernet/ipv4": MACS + b"\x08\x00" + ipv4(17, fragment=0x2001) + UDP,
}


@pytest.fixture(scope="module")
def heads() -> FrameHeads:
    rows = np.zeros((len(FRAMES), 128), np.uint8)
    for row, frame in zip(rows, FRAMES.values(), strict=True):
        row[: len(frame)] = np.frombuffer(frame, np.uint8)
    sizes = np.array([len(frame) for frame in FRAMES.values()])
    return made_heads(rows, sizes, sizes)


def shown(heads: FrameHeads) -> list[dict[str, str]]:
    fields: list[dict[str, str]] = [{} for _ in FRAMES]
    for column in named_columns(heads, find_layers(heads)):
        for i, value in enumerate(column.values):
            if column.valid is None or column.valid[i]:
                fields[i][column.name] = column.show(int(value))
    return fields


def test_every_shape_of_headers_is_recognised(heads):
    assert [shape_name(code) for code in find_layers(heads).shape] == list(FRAMES)


def test_fields_of_every_shape(heads):
    plain, tagged, stacked, six, other, fragment = shown(heads)

    for udp in (plain, tagged):
        assert (udp["udp src port"], udp["udp dst port"]) == ("1024", "53")
        assert (udp["ipv4 src"], udp["ipv4 dst"]) == ("10.0.0.1", "192.168.7.8")
        assert (udp["ipv4 tos"], udp["ipv4 dscp"], udp["ipv4 ttl"]) == ("0xb8", "46", "63")
        assert udp["ipv4 header length"] == "20 bytes"
    assert plain["ethernet dst"] == "02:00:00:00:00:aa"
    assert "vlan id" not in plain
    assert (tagged["vlan id"], tagged["vlan priority"]) == ("5", "5")
    assert (stacked["vlan id"], stacked["inner vlan id"]) == ("7", "8")
    assert stacked["inner vlan priority"] == "3"
    assert stacked["ethertype"] == "0x0800"
    assert stacked["ipv4 header length"] == "28 bytes"
    assert (stacked["tcp src port"], stacked["tcp dst port"]) == ("443", "8080")
    assert (stacked["tcp flags"], stacked["tcp window"]) == ("SYN+ACK", "4095")
    assert (six["ipv6 src"], six["ipv6 dst"]) == ("fd00::1", "fd00::2")
    assert (six["ipv6 traffic class"], six["ipv6 flow label"]) == ("0xb8", "0x12345")
    assert (six["ipv6 next header"], six["ipv6 hop limit"]) == ("17", "61")
    assert six["udp dst port"] == "53"
    assert other["ethertype"] == "0x0806"
    assert "ipv4 tos" not in other
    assert "udp dst port" not in fragment
    assert fragment["ipv4 flags and offset"] == "MF+offset 8"


def test_the_payload_is_counted_from_its_own_start(heads):
    column = Places(heads, find_layers(heads)).column("payload", 0, 1)

    assert column.valid is None
    values = dict(zip(FRAMES, column.values.tolist(), strict=True))
    for name in FRAMES:
        if name.endswith(("udp", "tcp")):
            assert values[name] == 0xC0, name


def test_bytes_the_frame_does_not_have_have_no_value(heads):
    column = Places(heads, find_layers(heads)).column("payload", 1, 2)

    assert column.valid is not None
    valid = dict(zip(FRAMES, column.valid.tolist(), strict=True))
    assert valid["ethernet/ipv4/udp"] and not valid["ethernet/vlan/vlan/ipv4/tcp"]


COUNT = np.arange(5000)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (COUNT.astype(np.uint8), "a counter: steps by 1 every packet"),
        ((7 * COUNT).astype(np.uint16), "a counter: steps by 7 every packet"),
        ((COUNT // 10 + 1000 * (COUNT % 10)).astype(np.uint16), "steps by 1 every 10 packets"),
        ((COUNT % 11).astype(np.uint8), "steps by 1 every packet"),
        (COUNT.astype("<u2").view(">u2"), "a counter: steps by 256 every packet"),
        ((COUNT >> 8).astype(np.uint8), "a slow counter: where it changes it steps by 1"),
    ],
)
def test_what_counts_is_recognised(values, said):
    assert said in str(find_counter(values))


def test_what_does_not_count_is_left_alone():
    rng = np.random.default_rng(1)
    rare = np.zeros(5000, np.uint8)
    rare[rng.choice(5000, 20, replace=False)] = 128
    in_turn = np.array([3, 9, 4, 200, 17], np.uint8)[COUNT % 5]

    assert find_counter(rng.integers(0, 256, 5000).astype(np.uint8)) is None
    assert find_counter(rare) is None
    assert find_counter(in_turn) is None


def test_a_value_out_of_the_count_breaks_it_and_a_jump_does_not():
    values = COUNT.astype(np.uint16)
    values[2500:] += 100
    values[1000] = 9
    counter = find_counter(values)

    assert counter is not None
    assert np.flatnonzero(breaks_sequence(values, counter)).tolist() == [1000]
