"""Classes planted in 300,000 packets are found: the right field, exactly the right packets."""

import json

import numpy as np
import pytest

from made_content import Stream, find_classes, made_heads
from taut.analysis.content import ContentSearch
from taut.records.documents.json_form import plain

N = 300_000


@pytest.fixture(scope="module")
def quiet() -> Stream:
    return Stream(N)


@pytest.fixture
def stream(quiet: Stream) -> Stream:
    """A stream of its own, of the bytes made once."""
    fresh = Stream(1000)
    fresh.n, fresh.rows = N, quiet.rows.copy()
    fresh.wire_len, fresh.latency_ns = quiet.wire_len.copy(), quiet.latency_ns.copy()
    return fresh


def found(result: ContentSearch) -> list[tuple[str, str, str]]:
    return [(c.field, c.value, c.direction) for c in result.classes]


PLANTED = [
    (60, b"\xab", ("payload byte 18", "0xab")),
    (36, b"\x11\x5c", ("udp dst port", "4444")),
    (15, b"\x04", ("ipv4 tos", "0x04")),
    (26, b"\xc0\xa8\x01\x02", ("ipv4 src", "192.168.1.2")),
    (22, b"\x01", ("ipv4 ttl", "1")),
]


@pytest.mark.parametrize(("n_planted", "shift_ns"), [(4, 1000), (4, 20_000), (50, 1000)])
@pytest.mark.parametrize(("offset", "value", "name"), PLANTED)
def test_slow_packets_are_named(stream, n_planted, offset, value, name, shift_ns):
    packets = stream.pick(n_planted)
    stream.write(packets, offset, value)
    stream.delay(packets, shift_ns)

    (only,) = stream.search().classes

    assert (only.field, only.value, only.direction) == (*name, "slower")
    assert only.n_packets == n_planted
    assert [p.position for p in only.packets] == packets.tolist()
    assert [p.latency_ns for p in only.packets] == stream.latency_ns[packets].tolist()
    low, high = only.shift_interval_ns
    assert low <= shift_ns <= high and abs(only.shift_ns - shift_ns) < 100
    assert only.p_corrected < 1e-6
    assert only.tail.of_class == 1.0


@pytest.mark.parametrize("n_planted", [4, 50])
def test_fast_packets_are_named(stream, n_planted):
    packets = stream.pick(n_planted)
    stream.write(packets, 15, b"\x80")
    stream.delay(packets, -1000)

    (only,) = stream.search().classes

    assert (only.field, only.value, only.direction) == ("ipv4 tos", "0x80", "faster")
    assert [p.position for p in only.packets] == packets.tolist()
    assert -1100 < only.shift_ns < -900


def test_one_of_more_values_that_come_again_than_are_looked_at_one_by_one_is_found(stream):
    rng = np.random.default_rng(5)
    values = rng.permutation(np.repeat(rng.integers(0, 1 << 32, N // 2, np.uint32), 2))
    stream.rows[:, 54:58] = values.view(np.uint8).reshape(N, 4)
    packets = stream.pick(4)
    stream.write(packets, 54, b"\xde\xad\xbe\xef")
    stream.delay(packets, 20_000)

    (only,) = stream.search().classes

    assert (only.field, only.value) == ("payload bytes 12-15", "0xdeadbeef")
    assert [p.position for p in only.packets] == packets.tolist()


@pytest.mark.parametrize("n_planted", [4, 50])
def test_the_length_on_the_wire_is_a_field(stream, n_planted):
    packets = stream.pick(n_planted)
    stream.wire_len[packets] = 1514
    stream.delay(packets, 1200)

    assert found(stream.search()) == [("wire length", "1514", "slower")]


def test_one_bit_of_a_byte_that_varies(stream):
    stream.rows[:, 15] = stream.rng.integers(0, 128, N)
    stream.rows[:, 15] &= 0b1111_1011
    packets = stream.pick(50)
    stream.rows[packets, 15] |= 0b100
    stream.delay(packets, 5000)

    (only,) = stream.search().classes

    assert (only.field, only.value) == ("frame byte 15 bit 2", "set")
    assert [p.position for p in only.packets] == packets.tolist()


def test_a_word_of_bytes_that_vary(stream):
    packets = stream.pick(50)
    stream.write(packets, 51, b"\xbe\xef")
    stream.delay(packets, 5000)
    members = np.flatnonzero((stream.rows[:, 51] == 0xBE) & (stream.rows[:, 52] == 0xEF))

    (only,) = stream.search().classes

    assert (only.field, only.value) == ("payload bytes 9-10", "0xbeef")
    assert only.n_packets == len(members)  # a few have these bytes by chance


def test_a_value_that_breaks_a_counter(stream):
    packets = stream.pick(50)
    stream.write(packets, 42, b"\xde\xad\xbe\xef")
    stream.delay(packets, 5000)

    (only,) = stream.search().classes

    assert only.field.startswith("payload byte")
    # Where a byte planted is by chance the next of the count, nothing is broken.
    assert {p.position for p in only.packets} <= set(packets.tolist())
    assert only.n_packets >= 45


def test_two_classes_at_once(stream):
    slow, fast = stream.pick(50), stream.pick(4)
    stream.write(slow, 36, b"\x11\x5c")
    stream.delay(slow, 3000)
    stream.write(fast, 60, b"\x07")
    stream.delay(fast, -1500)

    result = stream.search()

    assert sorted(found(result)) == [
        ("payload byte 18", "0x07", "faster"),
        ("udp dst port", "4444", "slower"),
    ]
    positions = {c.field: [p.position for p in c.packets] for c in result.classes}
    assert positions["udp dst port"] == slow.tolist()
    assert positions["payload byte 18"] == fast.tolist()


def test_a_class_of_half_the_packets_of_which_few_are_slow(stream):
    odd = stream.rng.random(N) < 0.5
    stream.rows[odd, 60] = 1
    slow = np.flatnonzero(odd & (stream.rng.random(N) < 0.005))
    stream.delay(slow, 8000)

    (only,) = stream.search().classes

    assert (only.field, only.value) == ("payload byte 18", "0x01")
    assert only.tail.of_tail > 0.8
    assert only.tail.of_class < 0.1


def test_other_descriptions_of_the_same_packets_are_listed_beside_it(stream):
    packets = stream.pick(50)
    stream.write(packets, 36, b"\x11\x5c")
    stream.delay(packets, 3000)

    (only,) = stream.search().classes

    assert "frame byte 36 = 0x11" in only.also
    assert "frame bytes 36-37 = 0x115c" in only.also


def test_json_is_plain_and_lists_the_first_fifty(stream):
    packets = stream.pick(80)
    stream.write(packets, 36, b"\x11\x5c")
    stream.delay(packets, 3000)

    data = json.loads(json.dumps(plain(stream.search())))

    (only,) = data["classes"]
    assert (only["field"], only["packets"]) == ("udp dst port", 80)
    assert len(only["first_packets"]) == 50
    assert only["first_packets"][0]["time_ns"] == int(packets[0]) * 100_000
    assert data["tests"] == sum(data["tests_by_kind"].values()) > 1000
    assert {"field": "ipv4 id", "reason": "a counter: steps by 1 every packet"} in data["excluded"]


def test_too_few_and_too_many_packets_are_not_searched_and_said():
    few = Stream(999).search()
    assert few.not_searched is not None and "too few" in few.not_searched

    small = Stream(2000)
    heads = made_heads(small.rows, 100, 100)
    many = find_classes(heads, small.latency_ns, small.time_ns, max_packets=1999)
    assert many.n_packets == 2000
    assert many.not_searched == "2000 packets are more than the 1999 that are searched"
    assert many.classes == ()
