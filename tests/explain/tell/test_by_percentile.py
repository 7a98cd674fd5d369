import numpy as np
import pyarrow as pa
import pytest

from taut.explain.tell.by_percentile import EVERY_SLOWEST, by_percentile
from taut.records.documents.explanation import TailPackets


def tail(latencies, causes, grades=None):
    grades = grades or ["B"] * len(causes)
    columns = {
        "latency_ns": pa.array(latencies, pa.int64()),
        "cause": pa.array(causes, pa.string()),
    }
    return pa.table(columns | {"grade": pa.array(grades, pa.string())})


def test_every_packet_of_the_tail_is_in_one_stretch_with_its_cause():
    # The 100 slowest of 100,000: preempted; the ten slowest of them stopped.
    causes = ["preemption"] * 90 + ["stopped"] * 10
    found = by_percentile(tail(range(1_000, 1_100), causes), 100_000)

    named = [(b.begin, b.end, b.packets, b.by_cause) for b in found.bins]
    assert named == [
        ("p99.9", "p99.95", 50, {"preemption": 50}),
        ("p99.95", "p99.99", 40, {"preemption": 40}),
        ("p99.99", "max", 10, {"stopped": 10}),
    ]
    assert [b.one_in for b in found.bins] == [(1_000, 2_000), (2_000, 10_000), (10_000, 100_000)]


def test_a_tail_that_begins_between_two_stretches_has_its_first_packets_in_the_lower_one():
    found = by_percentile(tail(range(30), ["timer"] * 30), 10_000)

    assert [(b.begin, b.packets) for b in found.bins] == [("p99.5", 20), ("p99.9", 10)]


def test_single_packets_lie_where_the_percentile_curve_has_them():
    found = by_percentile(tail([500, 900, 700], ["timer", "smi", "timer"]), 3_000)

    assert found.packets == TailPackets(
        one_in=(3_000, 1_500, 1_000),
        latency_ns=(900, 700, 500),
        cause=("smi", "timer", "timer"),
        is_guess=(False, False, False),
    )


def test_guesses_are_told_apart_and_what_is_unknown_is_none():
    causes, grades = ["throttled", "throttled", "unknown"], ["D", "A", "D"]
    found = by_percentile(tail([500, 900, 700], causes, grades), 3_000)

    assert found.packets.is_guess == (False, False, True)
    assert [b.guesses for b in found.bins] == [{"throttled": 1}]


def test_what_is_kept_does_not_grow_with_the_tail():
    n = 1_000_000
    latency = np.random.default_rng(1).permutation(n)
    found = by_percentile(tail(latency, np.where(latency % 2, "timer", "smi")), 2 * n)

    kept = found.packets.latency_ns
    assert kept[:EVERY_SLOWEST] == tuple(range(n - 1, n - 1 - EVERY_SLOWEST, -1))
    assert kept[-1] == 0
    assert len(kept) < 800
    assert sum(b.packets for b in found.bins) == n
    assert all(sum(b.by_cause.values()) == b.packets for b in found.bins)


@pytest.mark.parametrize("latencies", [[], [None, None]])
def test_lost_packets_have_no_percentile(latencies):
    found = by_percentile(tail(latencies, ["unknown"] * len(latencies)), 1_000)

    assert found.bins == ()
    assert found.packets.latency_ns == ()
