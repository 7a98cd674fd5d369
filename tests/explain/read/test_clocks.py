"""Cores whose counters are apart: what is said of a trial is what is said where they agree."""

from dataclasses import replace

import numpy as np
import pytest

from made_trace import CORE, FLUSH, HOG, POLLER, PREEMPTED, MadeTrace, held, normal, write_trial
from taut.explain import Options, as_document, explain_trial
from taut.explain.read.clocks import AGREED, Apart, clocks_apart
from taut.explain.read.passages import Passages
from taut.records.documents.json_form import parse
from taut.records.documents.trial import TrialDocument

MS = 1_000_000
AHEAD_NS = 5_000
STALL, LOST = (10 * MS + 15, 10 * MS + 8_000), (20 * MS + 15, 20 * MS + 8_000)
LOGS = {"driver": "taut_forward", "options": {}, "stats": {"gaps": {"per_packet_ns": 250}}}
PROGRAM = {"driver": "testpmd", "options": {}, "stats": None}


def reading(*pairs):
    """What taut-clock says: cores, how far the second is ahead, and how uncertain that is."""
    skew = [
        {"cores": cores, "skew_ns": ns, "uncertainty_ns": uncertain_ns}
        for cores, ns, uncertain_ns in pairs
    ]
    return {"usable": True, "skew": skew}


def around(skew_ns, uncertainty_ns=40.0):
    one = reading(([0, CORE], skew_ns, uncertainty_ns))
    return {"clock": {"before": one, "after": one}}


def logged():
    """A shootdown that a log of gaps has, and a time of which events were lost."""
    trace = MadeTrace().call(STALL[0] + 1_000, STALL[1] - 1_000, FLUSH, sent_at=STALL[0])
    return trace.add(STALL[0] + 3_000, "tlb_flush", 1, 8).add(LOST[0], "lost", 3, LOST[1])


def preempted():
    """Events of a program without a log."""
    trace = MadeTrace().vector(1_000, 2_000).vector(3_000, 4_000)
    return trace.switch(STALL[0], POLLER, HOG, PREEMPTED).switch(STALL[1], HOG, POLLER)


def explained(folder, trace, dut, clock, ahead_ns=0):
    """Explain a trial in which the device's core counts so far ahead of the generator's."""
    trace.rows = [
        (t + ahead_ns, thread, cpu, kind, arg0, arg1 + (ahead_ns if kind == "lost" else 0))
        if cpu == CORE
        else (t, thread, cpu, kind, arg0, arg1)
        for t, thread, cpu, kind, arg0, arg1 in trace.rows
    ]
    stalls = [(start + ahead_ns, end + ahead_ns, "forwarder") for start, end in (STALL, LOST)]
    gaps = stalls if dut is LOGS else []
    rows = held(held(normal(3_000), *STALL), *LOST)
    trial = write_trial(folder, rows, gaps, trace, meta={"dut": dut, **clock})
    return as_document(explain_trial(trial, Options(over="5us")))


@pytest.mark.parametrize(
    ("dut", "made", "causes"),
    [
        (LOGS, logged, {"tlb-shootdown", "trace-lost"}),
        (PROGRAM, preempted, {"preemption", "unknown"}),
    ],
)
def test_a_measured_difference_changes_no_verdict(tmp_path, dut, made, causes):
    alike = explained(tmp_path / "alike", made(), dut, around(0.0))
    apart = explained(tmp_path / "apart", made(), dut, around(float(AHEAD_NS)), AHEAD_NS)
    not_told = explained(tmp_path / "not told", made(), dut, {}, AHEAD_NS)

    assert {total.cause for total in alike.causes} == causes
    [words] = set(apart.notes) - set(alike.notes)
    assert words.startswith(
        "the clock of core 1 is 5 µs ahead of the generator's, give or take 40 ns"
    )
    assert replace(apart, notes=alike.notes) == alike
    assert {total.cause for total in not_told.causes} == {"unknown"}


def test_what_may_be_nothing_changes_nothing(tmp_path):
    alike = explained(tmp_path / "alike", logged(), LOGS, {})

    for skew_ns, uncertainty_ns in ((30.0, 40.0), (-115.0, 115.0), (700.0, 900.0)):
        clock = around(skew_ns, uncertainty_ns)
        assert explained(tmp_path / str(skew_ns), logged(), LOGS, clock) == alike


def apart_of(generator, before, after=None):
    clock = {"before": before, "after": after}
    document = {"cores": {"generator": generator, "device": 1}, "clock": clock}
    return clocks_apart(parse(TrialDocument, document, "made"))


def test_each_core_is_compared_with_the_generators():
    one = reading(([0, 1], 5_000.0, 40.0))
    assert apart_of(0, one) == Apart({1: 5_000}, 40)
    assert apart_of(1, one) == Apart({0: -5_000}, 40)

    three = reading(([0, 1], 100.0, 10.0), ([0, 2], 700.0, 20.0))
    assert apart_of(1, three, three) == Apart({0: -100, 2: 600}, 30)
    assert apart_of(0, reading(), None) == AGREED
    assert apart_of(7, three) == AGREED


def test_what_changes_during_a_trial_is_not_known():
    before, after = reading(([0, 1], 5_000.0, 40.0)), reading(([0, 1], 5_300.0, 10.0))

    found = apart_of(0, before, after)

    assert found == Apart({1: 5_150}, 340)
    assert apart_of(0, before, reading()) == Apart({1: 5_000}, 40)


def test_only_what_is_more_than_is_allowed_for_anyway_is_said():
    assert Apart({1: 300}, 40).words == []
    assert len(Apart({1: 300}, 900).words) == 1
    assert "core 2 is 2 µs behind the generator's" in Apart({2: -2_000}, 40).words[0]


def test_events_are_in_the_order_of_time_when_they_are_put_right():
    trace = MadeTrace().vector(6_000, 7_000).send(2_500).add(9_000, "lost", 3, 20_000)

    found = Apart({CORE: 5_000}, 40).put_right(trace.events())

    assert found.time_ns.tolist() == [1_000, 2_000, 2_500, 4_000]
    assert found.arg1[-1] == 15_000


def test_packets_nearer_to_an_end_than_the_clocks_are_known_speak_for_nothing(tmp_path):
    packets = write_trial(tmp_path, normal(100)) / "packets.parquet"
    start, end = np.array([100_000]), np.array([200_000])

    assert Passages(packets, "memif").inside(start, end).n.tolist() == [10]
    assert Passages(packets, "memif", error_ns=12_000).inside(start, end).n.tolist() == [7]
