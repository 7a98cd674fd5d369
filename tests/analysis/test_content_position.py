"""Runs of neighbours that differ from the rest by far are told by their position."""

import numpy as np
import pytest

from made_content import FRAME_LEN, Stream, made_heads
from taut.analysis.content import MatchedFrames, search_captures
from taut.records.documents.content import PositionRun

N = 20_000


def runs(stream: Stream) -> list[PositionRun]:
    result = stream.search()
    assert result.positions.n_runs >= len(result.positions.runs)
    return list(result.positions.runs)


def places(stream: Stream) -> list[tuple[str, str, int, int]]:
    return [(r.where, r.direction, r.first_position, r.last_position) for r in runs(stream)]


@pytest.mark.parametrize("n_slow", [1, 12, 400])
def test_the_first_and_the_last_packets_are_told(n_slow):
    stream = Stream(N)
    stream.delay(np.arange(n_slow), 20_000)
    stream.delay(np.arange(N - n_slow, N), 20_000)

    first, last = runs(stream)

    assert (first.where, first.first_position, first.last_position) == ("first", 0, n_slow - 1)
    assert (last.where, last.first_position, last.last_position) == ("last", N - n_slow, N - 1)
    assert first.n_packets == last.n_packets == n_slow
    assert abs(first.median_ns - 23_200) < 200 and abs(first.rest_median_ns - 3_200) < 50


def test_an_episode_is_told_though_its_packets_share_a_value():
    stream = Stream(N)
    episode = np.arange(9_000, 9_060)
    stream.delay(episode, 50_000)
    stream.write(episode, 60, b"\x07")

    assert places(stream) == [("inside", "slower", 9_000, 9_059)]
    assert not stream.search().classes


def test_neighbours_that_are_faster_are_told():
    stream = Stream(N)
    stream.delay(np.arange(5_000, 5_100), -2_000)

    assert places(stream) == [("inside", "faster", 5_000, 5_099)]


def test_slow_packets_here_and_there_are_no_run():
    stream = Stream(N)
    stream.delay(stream.pick(200), 20_000)

    assert places(stream) == []


@pytest.mark.parametrize("n", [N, N + 1, N + 2])
def test_a_pattern_through_the_whole_capture_is_no_run(n):
    stream = Stream(n)
    stream.delay(np.arange(0, n, 3), 17_000)

    assert places(stream) == []


def test_an_episode_of_every_other_packet_is_told_by_those_that_are_slow():
    stream = Stream(N)
    stream.delay(np.arange(9_000, 9_200, 2), 50_000)

    (run,) = runs(stream)

    assert (run.first_position, run.last_position, run.n_packets) == (9_000, 9_198, 100)
    assert abs(run.median_ns - 53_200) < 200 and abs(run.rest_median_ns - 3_200) < 50


def test_quiet_and_drifting_captures_have_none():
    stream = Stream(N)
    assert places(stream) == []

    stream.latency_ns = stream.latency_ns + np.arange(N) // 5
    assert places(stream) == []


def test_what_a_class_explains_is_no_run():
    stream = Stream(N)
    packets = np.concatenate([np.arange(first, first + 5) for first in stream.pick(30)])
    packets = np.unique(packets[packets < N])
    stream.write(packets, 15, b"\x04")
    stream.delay(packets, 5_000)

    result = stream.search()

    assert [(c.field, c.value) for c in result.classes] == [("ipv4 tos", "0x04")]
    assert result.positions.n_runs == 0


def test_of_many_runs_the_greatest_are_listed_and_all_are_counted():
    stream = Stream(N)
    for i, first in enumerate(range(500, N, 1_000)):
        stream.delay(np.arange(first, first + 10 + i), 5_000)

    result = stream.search()

    assert result.positions.n_runs == 20
    listed = [run.first_position for run in result.positions.runs]
    assert listed == list(range(10_500, N, 1_000))


def test_the_rounding_of_coarse_stamps_is_no_run():
    """A latency of 3.3 us in whole us: it is 3 or 4 by where in its microsecond a packet comes."""
    stream = Stream(N)
    sent_ns = np.arange(N) * 100_001
    stream.latency_ns = (sent_ns + 3_300) // 1_000 * 1_000 - sent_ns // 1_000 * 1_000
    stream.delay(np.arange(9_000, 9_060), 50_000)
    heads = made_heads(stream.rows, FRAME_LEN, stream.wire_len)
    frames = MatchedFrames(np.arange(N), sent_ns, stream.latency_ns, heads)

    found = search_captures([frames], resolution_ns=1_000).positions

    assert [(r.first_position, r.last_position) for r in found.runs] == [(9_000, 9_059)]
