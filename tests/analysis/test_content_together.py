"""Fields searched in several captures together: what is told is told of the first one."""

import numpy as np

from made_content import FRAME_LEN, Stream, made_heads
from taut.analysis.content import ContentSearch, MatchedFrames, search_captures

N = 8_000
ECHO = b"\x00\x07"  # the UDP destination port of the echo service, at byte 36
CLOCKS_APART_NS = 10_000_000


def with_port(seed: int, *, slower_ns: int, n: int = 400, noise: int = 1, n_all: int = N) -> Stream:
    stream = Stream(n_all, seed)
    middle = int(np.median(stream.latency_ns))
    stream.latency_ns = middle + noise * (stream.latency_ns - middle)
    packets = stream.pick(n)
    stream.write(packets, 36, ECHO)
    stream.delay(packets, slower_ns)
    return stream


def together(*streams: Stream) -> ContentSearch:
    """Search captures whose egress clocks are further ahead from each to the next."""
    captures = [
        MatchedFrames(
            np.arange(stream.n),
            stream.time_ns,
            stream.latency_ns + i * CLOCKS_APART_NS,
            made_heads(stream.rows, FRAME_LEN, stream.wire_len),
        )
        for i, stream in enumerate(streams)
    ]
    return search_captures(captures)


def test_a_class_that_only_another_capture_has_is_none_of_this_one():
    result = together(with_port(1, slower_ns=0), with_port(2, slower_ns=2_000))

    assert not result.classes
    reasons = {e.field: e.reason for e in result.excluded}
    assert reasons["udp dst port = 7"] == "stands out in 1 of 2 captures, not in this one"


def test_a_value_that_this_capture_does_not_have_is_none_of_its_classes():
    result = together(with_port(1, slower_ns=0, n=0), with_port(2, slower_ns=2_000))

    assert not result.classes
    reasons = {e.field: e.reason for e in result.excluded}
    assert reasons["udp dst port = 7"] == "no packet of this capture has it"


def test_a_value_that_all_packets_of_this_capture_have_has_none_to_be_compared_with():
    this = with_port(1, slower_ns=0, n=1_500, n_all=1_500)
    result = together(this, with_port(2, slower_ns=35, n=1_800, n_all=6_000))

    assert not result.classes
    reasons = {e.field: e.reason for e in result.excluded}
    assert reasons["udp dst port = 7"] == "no packet of this capture is left to compare it with"


def test_a_class_of_this_capture_stays_one_where_others_do_not_have_it():
    (only,) = together(with_port(1, slower_ns=2_000), with_port(2, slower_ns=0)).classes

    assert (only.field, only.value) == ("udp dst port", "7")
    assert [c.n_packets for c in only.by_capture] == [400, 400]
    first, second = (c.n_in_tail for c in only.by_capture)
    assert first > 10 * max(second, 1)


def test_medians_are_those_of_the_capture_asked_about():
    this, other = with_port(1, slower_ns=2_000), with_port(2, slower_ns=2_000)
    usual_ns = int(np.median(this.latency_ns))

    (only,) = together(this, other).classes

    assert abs(only.median_ns - usual_ns - 2_000) < 30
    assert abs(only.rest_median_ns - usual_ns) < 30
    assert abs(only.shift_ns - 2_000) < 30


def test_a_class_is_kept_where_the_other_capture_is_noisier_by_far():
    (only,) = together(
        with_port(1, slower_ns=1_000), with_port(2, slower_ns=20_000, noise=20)
    ).classes

    assert (only.field, only.value) == ("udp dst port", "7")


def test_few_packets_of_this_capture_are_too_few_to_judge():
    (only,) = together(with_port(1, slower_ns=0, n=1), with_port(2, slower_ns=2_000)).classes

    assert [(c.n_packets) for c in only.by_capture] == [1, 400]
