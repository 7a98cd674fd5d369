"""Values of a counter that come back with every wrap: found where slow each time."""

import numpy as np
import numpy.typing as npt
import pytest

from made_content import Stream, made_heads, on_grid
from taut.analysis.content import ContentSearch, MatchedFrames, search_captures
from taut.analysis.content.ranks import log_gamma_tail

N = 18_900
WRAP = 1 << 12  # 12 bits come back as often in these as 16 bits in 300,000
ALTERNATIVE = "something with a period of 4,096 packets"

Ints = npt.NDArray[np.int64]
Claims = list[tuple[str, str, str | None]]


def counting(n: int, seed: int = 1, *, first_id: int = 1_000, wrap: int = WRAP) -> Stream:
    """A stream in which only the identifier counts; the payload is left out of what is searched."""
    stream = Stream(n, seed)
    ids = (np.arange(n) + first_id) % wrap
    stream.rows[:, 18], stream.rows[:, 19] = ids >> 8, ids
    stream.rows = stream.rows[:, :42]
    return stream


def matched(stream: Stream) -> MatchedFrames:
    heads = made_heads(stream.rows, stream.rows.shape[1], stream.wire_len)
    return MatchedFrames(np.arange(stream.n), stream.time_ns, stream.latency_ns, heads)


def search(*streams: Stream) -> ContentSearch:
    return search_captures([matched(stream) for stream in streams])


def with_identifier(stream: Stream, value: int) -> Ints:
    ids = stream.rows[:, 18].astype(np.int64) << 8 | stream.rows[:, 19]
    return np.flatnonzero(ids == value)


def claims(result: ContentSearch) -> Claims:
    return [(c.field, c.value, c.alternative) for c in result.classes]


def test_four_packets_of_300000_with_one_value_of_a_counter_are_found_and_no_others():
    stream = counting(300_000, wrap=1 << 16)
    as_made = stream.latency_ns.copy()
    packets = with_identifier(stream, 50_000)
    stream.delay(packets, 3000)

    result = search(stream)

    (only,) = result.classes
    assert len(packets) == 4
    assert (only.field, only.value, only.direction) == ("ipv4 id", "50000", "slower")
    assert only.alternative == "something with a period of 65,536 packets"
    assert [p.position for p in only.packets] == packets.tolist()
    assert 2900 < only.shift_ns < 3100 and only.p_corrected < 1e-3
    (searched, _) = result.counters  # the field, and its bytes by their place
    assert (searched.n_values, searched.period_packets) == (1 << 16, 1 << 16)
    assert result.tests_by_kind["count"] == 2 * 2 * (1 << 16)

    # The same four packets' delay at other values is nobody's.
    stream.latency_ns = as_made
    stream.delay(packets + np.array([0, 1000, 2000, 3000]), 3000)
    assert claims(search(stream)) == []


def test_a_fast_value_is_found_as_well():
    stream = counting(N)
    stream.delay(with_identifier(stream, 3_000), -1000)

    (only,) = search(stream).classes

    assert (only.value, only.direction) == ("3000", "faster")


def test_packets_that_wait_behind_a_slow_value_are_not_named():
    stream = counting(N)
    packets = with_identifier(stream, 3_000)
    for behind, ns in enumerate((20_000, 15_000, 10_000, 5_000)):
        stream.delay(packets + behind, ns)

    assert claims(search(stream)) == [("ipv4 id", "3000", ALTERNATIVE)]


def test_a_value_amid_drift_and_bursts_is_found():
    stream = counting(N)
    stream.latency_ns = on_grid(_bursts(stream.rng, N) + np.arange(N))
    stream.delay(with_identifier(stream, 3_000), 200_000)

    assert claims(search(stream)) == [("ipv4 id", "3000", ALTERNATIVE)]


@pytest.mark.parametrize("n_parts", [2, 3, 16])
def test_a_part_of_the_period_is_a_timer_and_is_said(n_parts):
    stream = counting(N)
    stream.delay(np.rint(np.arange(701, N, WRAP / n_parts)).astype(np.int64), 3000)

    result = search(stream)

    assert claims(result) == []
    assert any("ipv4 id = " in e.field for e in result.excluded)


def test_a_counter_in_two_bytes_of_the_payload_is_searched_in_either_order():
    stream = Stream(N)
    stream.rows = stream.rows[:, :50]
    count = np.arange(N) % WRAP
    stream.rows[:, 18:20] = stream.rows[:, 42:50] = 0
    stream.rows[:, 42], stream.rows[:, 43] = count, count >> 8
    stream.delay(np.flatnonzero(count == 0xABC), 3000)

    (only,) = search(stream).classes

    assert (only.field, only.value) == ("payload bytes 0-1", "0xbc0a")  # as the bytes stand


def test_captures_of_which_none_suffices_find_it_together_and_settle_it():
    streams = [counting(2 * WRAP, first_id=0), counting(2 * WRAP, 2, first_id=500)]
    for stream in streams:
        stream.delay(with_identifier(stream, 3_000), 3000)

    result = search(*streams)

    assert claims(search(streams[0])) == []
    (only,) = result.classes
    assert (only.field, only.value, only.alternative) == ("ipv4 id", "3000", None)
    assert [(c.n_packets, c.n_in_tail) for c in only.by_capture] == [(2, 2), (2, 2)]
    assert [p.position for p in only.packets] == [3_000, 3_000 + WRAP]
    assert (result.n_captures, result.n_packets) == (2, 4 * WRAP)


def test_captures_in_which_a_value_comes_at_the_same_place_settle_nothing():
    streams = [counting(2 * WRAP), counting(2 * WRAP, 2)]
    for stream in streams:
        stream.delay(with_identifier(stream, 3_000), 3000)

    assert claims(search(*streams)) == [("ipv4 id", "3000", ALTERNATIVE)]


def test_a_value_that_is_slow_in_one_capture_only_is_a_period_and_said():
    streams = [counting(N, first_id=0), counting(N, 2, first_id=500)]
    for stream in streams:  # at the same place in both, so another value in each
        stream.delay(np.arange(3_000, N, WRAP), 3000)

    assert claims(search(streams[0])) == [("ipv4 id", "3000", ALTERNATIVE)]
    together = search(*streams)
    assert claims(together) == []
    reasons = {e.field: e.reason for e in together.excluded}
    expected = f"stands out in 1 of 2 captures: {ALTERNATIVE} rather than the value"
    assert expected in (reasons.get("ipv4 id = 3000"), reasons.get("ipv4 id = 3500"))


def test_a_value_that_only_other_captures_have_is_none_of_this_one():
    streams = [counting(N // 8, first_id=0), counting(N, 2, first_id=0), counting(N, 3, first_id=9)]
    for stream in streams:
        stream.delay(with_identifier(stream, 3_000), 3000)

    together = search(*streams)

    assert claims(together) == []
    reasons = {e.field: e.reason for e in together.excluded}
    assert reasons["ipv4 id = 3000"] == "no packet of this capture has it"


def test_the_chance_of_several_ranks_is_that_of_fisher():
    # P(Gamma(2) > t) = exp(-t) (1 + t); P(Gamma(1) > t) = exp(-t).
    found = log_gamma_tail(np.array([3.0, 3.0, 500.0, 1.0]), np.array([1, 2, 2, 0]))

    expected = [-3.0, np.log(4) - 3, np.log(501) - 500, 0.0]
    assert found == pytest.approx(expected)


# Twenty pairs in which latency has nothing to do with what is in the packets.


def _quiet(rng: np.random.Generator, n: int) -> npt.NDArray[np.float64]:
    return rng.normal(3200, 40, n) + rng.exponential(15, n)


def _bursts(rng: np.random.Generator, n: int) -> npt.NDArray[np.float64]:
    latency = _quiet(rng, n)
    for start in rng.integers(0, n, rng.integers(20, 60)):
        size = int(min(rng.integers(2, 200), n - start))
        latency[start : start + size] += rng.integers(1000, 100_000) * np.linspace(1, 0, size)
    return latency


def _drift(rng: np.random.Generator, n: int) -> npt.NDArray[np.float64]:
    at = np.arange(n) / n
    return _quiet(rng, n) + 30_000 * at + 1000 * np.sin(at * rng.integers(1, 200))


def _timer(rng: np.random.Generator, n: int) -> npt.NDArray[np.float64]:
    latency = _quiet(rng, n)
    period = float(rng.choice([40, 256, 1000, 1024, WRAP / 2, WRAP / 3, 3000.3]))
    latency[np.arange(rng.integers(1, 256), n, period).astype(int)] += 3000
    return latency


def _ends(rng: np.random.Generator, n: int) -> npt.NDArray[np.float64]:
    latency = _quiet(rng, n)
    latency[: rng.integers(1, 100)] += 20_000
    latency[-rng.integers(1, 100) :] += 20_000
    return latency


@pytest.mark.parametrize("latency", [_bursts, _drift, _timer, _ends])
@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_claimed_of_twenty_pairs_without_a_planted_value(latency, seed):
    stream = counting(N, seed)
    stream.latency_ns = on_grid(latency(stream.rng, N))

    result = search(stream)

    assert "ipv4 id" in {c.field for c in result.counters}
    assert claims(result) == []
