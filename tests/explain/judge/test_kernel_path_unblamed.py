"""A kernel device: packets that it did not hold, traces that cannot tell, and who else it was."""

import numpy as np
import pytest

from made_bridge import (
    BRIDGE,
    DELIVERY,
    LATE,
    THREADS,
    US,
    Bridge,
    detail,
    explained,
    verdict,
)
from made_packets import packet
from made_trace import CORE, HOG, SLEEPS, MadeTrace, write_trial
from taut.explain import Options, explain_trial


def test_an_idle_core_that_nobody_told_is_no_cause(tmp_path):
    def told_late(trace, t):
        trace.tell(t + 60 * US).take(t + 64 * US).run(t + 65 * US, t + 68 * US)

    found = explained(tmp_path, told_late, 68)

    assert verdict(found) == ("unknown", "D")
    assert "before its core was told" in found.worst[0].line


def test_a_packet_that_was_out_and_found_late_was_not_held_by_the_device(tmp_path):
    def found_late(rows):
        rows[LATE]["arrival_window_ns"] = 65 * US

    found = explained(tmp_path, lambda trace, t: trace.forward(t), trial=found_late)

    assert verdict(found) == ("unknown", "D")


def test_a_softirq_that_ran_ended_the_hold(tmp_path):
    """It ran after the packet had come, and told the core nothing more: the packet was out."""

    def twice(trace, t):
        trace.forward(t).tell(t + 60 * US).take(t + 64 * US).run(t + 65 * US, t + 70 * US)

    def found_late(rows):
        rows[LATE]["arrival_window_ns"] = 64 * US

    assert verdict(explained(tmp_path, twice, trial=found_late)) == ("unknown", "D")


def test_packets_that_came_out_without_a_softirq_make_no_idle_core_guilty(tmp_path):
    """The bursts' runs are not recorded, and nobody says when the core was told."""

    def burst(rows):
        for row in rows[LATE:]:
            row["received_ns"] = rows[LATE]["sent_ns"] + 90_000_000 + row["seq"]

    trace, rows = Bridge(), [packet(seq, 8_200, gap_ns=100_000) for seq in range(300)]
    for row in rows[:LATE]:
        trace.take(row["sent_ns"] + 5 * US).run(row["sent_ns"] + 5_400, row["sent_ns"] + 8_400)
    trace.run(rows[LATE]["sent_ns"] + 90_000_250, rows[LATE]["sent_ns"] + 90_000_900)
    burst(rows)
    folder = write_trial(tmp_path, rows, trace=trace, meta=BRIDGE, threads=THREADS, functions={})

    found = explain_trial(folder, Options(over="20us"))

    holds = [g for g in found.gaps.to_pylist() if g["thread"] == "softirq"]
    assert max((g["end_ns"] - g["start_ns"] for g in holds), default=0) < US


def test_softirqs_that_had_nothing_to_do_prove_that_no_packet_waited_for_one(tmp_path):
    """They ran while it was inside, and let it out only at the end."""

    def ran(trace, t):
        for at in range(0, 1_000, 100):
            trace.run(t + at * US, t + (at + 4) * US, work=0)
        trace.run(t + 1_000 * US, t + 1_004 * US)

    rows = [packet(seq, 8_200, gap_ns=2_000_000) for seq in range(300)]
    trace = Bridge()
    for row in rows:
        if row["seq"] == LATE:
            ran(trace, row["sent_ns"])
            row["received_ns"] = row["sent_ns"] + 1_003 * US
        else:
            trace.take(row["sent_ns"] + 5 * US)
            trace.run(row["sent_ns"] + 5_400, row["sent_ns"] + 8_400)
    folder = write_trial(tmp_path, rows, trace=trace, meta=BRIDGE, threads=THREADS, functions={})

    assert verdict(explain_trial(folder, Options(over="20us"))) == ("unknown", "D")


def test_without_events_of_calls_a_hold_counts_from_the_sending(tmp_path):
    def sleeps(trace, t):
        trace.take(t + 66 * US).run(t + 67 * US, t + 70 * US)

    missing = [{"event": "csd/csd_queue_cpu", "costs": ""}]
    found = explained(tmp_path, sleeps, functions={}, missing=missing)

    assert verdict(found) == ("idle-exit", "D")
    assert any("count from their sending" in note for note in found.notes)


@pytest.mark.parametrize("trace", [MadeTrace().vector(1, 2), MadeTrace()], ids=["others", "none"])
def test_without_softirqs_nothing_is_told(tmp_path, trace):
    rows = [packet(seq, 8_200 + 70 * US * (seq == LATE), gap_ns=100_000) for seq in range(400)]
    folder = write_trial(tmp_path, rows, trace=trace, meta=BRIDGE, threads=THREADS)

    found = explain_trial(folder, Options(over="20us"))

    assert verdict(found) == ("unknown", "D")
    assert any("no network softirq was recorded" in note for note in found.notes)


def test_in_the_senders_context_there_is_no_device_to_blame(tmp_path):
    rows = [packet(seq, 8_200 + 70 * US * (seq == LATE), gap_ns=100_000) for seq in range(400)]
    meta = {"dut": {"driver": "linux_bridge", "options": {"placement": "sender"}}}
    folder = write_trial(tmp_path, rows, trace=Bridge().forward(0), meta=meta)

    found = explain_trial(folder, Options(over="20us"))

    assert verdict(found) == ("unknown", "D")
    assert any("sender's softirq" in note for note in found.notes)


@pytest.mark.parametrize("seed", range(5))
def test_no_packet_comes_out_inside_a_stretch_that_is_blamed(tmp_path, seed):
    rng = np.random.default_rng(seed)
    trace, rows, free = Bridge(), [], 0
    for seq in range(600):
        row = packet(seq, 8_200, gap_ns=20_000)
        begins = max(free, row["sent_ns"] + int(rng.exponential(9 * US)))
        free = begins + US + int(rng.exponential(5 * US))
        trace.tell(row["sent_ns"] + US).take(begins + US).run(begins + US + 400, free + US + 400)
        row["received_ns"] = free + US + 300
        row["arrival_window_ns"] = int(rng.integers(0, 30 * US))
        free += 2 * US
        rows.append(row)
    functions = {str(DELIVERY): "rps_trigger_softirq"}
    names = {"threads": THREADS, "functions": functions}
    folder = write_trial(tmp_path, rows, trace=trace, meta=BRIDGE, **names)

    found = explain_trial(folder, Options(over="p90"))

    holds = [g for g in found.gaps.to_pylist() if g["thread"] == "softirq"]
    assert len(holds) > 30
    arrivals = [(r["received_ns"] - r["arrival_window_ns"], r["received_ns"]) for r in rows]
    for still in holds:
        inside = [a for a in arrivals if still["start_ns"] < a[0] and a[1] < still["end_ns"]]
        assert not inside


@pytest.mark.parametrize("name", ["hog", "napi/eth0-8193"])
def test_the_napi_thread_of_another_card_is_somebody_else(tmp_path, name):
    def busy(trace, t):
        trace.switch(t - 20 * US, 0, HOG).tell(t + US).take(t + 5 * US, HOG)
        trace.run(t + 66 * US, t + 70 * US, thread=HOG).switch(t + 71 * US, HOG, 0, SLEEPS)

    smi = {when: {"smi": {str(CORE): 7}} for when in ("before", "after")}
    found = explained(tmp_path, busy, threads={**THREADS, str(HOG): name}, counters=smi)
    found = explain_trial(found.source.trial, Options(over="20us", is_guest=False))

    assert verdict(found) == ("softirqs-off", "C")
    assert detail(found) == f'"{name}"/200 ran'
