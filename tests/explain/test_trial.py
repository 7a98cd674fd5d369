"""Whole trials with one planted cause each: what every packet of the tail is blamed on."""

import json

import numpy as np
import pytest

from made_packets import COLD, UNSENT, extra, packet
from made_trace import (
    FLUSH,
    HOG,
    POLLER,
    PREEMPTED,
    MadeTrace,
    held,
    normal,
    paused,
    stop,
    write_trial,
)
from taut.analysis.episode import find_episodes
from taut.analysis.tables import load_packets
from taut.core.errors import InputError
from taut.explain import Options, as_document, explain_trial
from taut.explain.causes import BY_ID
from taut.records.documents.json_form import plain
from taut.storage.engines import open_engine

MS = 1_000_000


def only_episode(explanation):
    assert len(explanation.worst) == 1
    return explanation.worst[0]


def test_a_stop_of_5_ms_is_one_episode_first_stopped_the_rest_queued_behind_it(tmp_path):
    start, end = 10 * MS + 5_000, 15 * MS + 5_000
    rows = held(normal(3_000), start, end)

    trial = write_trial(tmp_path, rows, [(start, end, "forwarder")], stop(start, end))
    found = explain_trial(trial, Options(over="20us"))

    story = only_episode(found)
    assert (story.cause, story.n_packets) == ("stopped", pytest.approx(500, abs=3))
    assert story.n_by_relation == {"stalled": 1, "queued behind it": story.n_packets - 1}
    assert [total.cause for total in found.causes] == ["stopped"]
    assert found.causes[0].tail_share == 1.0
    # The time it lasted, not 500 packets times how late each of them was.
    assert found.causes[0].total_ns == pytest.approx(end - start, rel=0.01)
    assert sum(s.ns for s in story.gap.shares) == end - start
    assert story.gap.missing == ("a counter that agrees in number (threads voluntary)",)
    assert story.line == (
        "Packet 1,001 and 499 more, up to 4.99 ms late: core 1 stood still for 5 ms, its thread "
        "stopped by a signal."
    )


def test_the_same_on_the_generator_is_the_measurer(tmp_path):
    start, end = 10 * MS + 500, 15 * MS
    rows = paused(normal(3_000), start, end)

    trial = write_trial(tmp_path, rows, [(start, end, "generator")], MadeTrace().vector(1, 2))
    found = explain_trial(trial, Options(over="20us"))

    story = only_episode(found)
    assert (story.cause, story.grade, story.n_void) == ("measurer", "B", 1)
    assert found.n_void > 499
    assert story.gap.thread == "generator"
    assert found.gaps["cause"].to_pylist() == ["measurer"]
    assert found.gaps["because"].to_pylist() == ["hypervisor-or-hardware"]


@pytest.mark.parametrize(
    ("link", "watched", "beside", "longer"),
    [
        ("memif", [POLLER], ("smi", "C"), ("hypervisor-or-hardware", "C")),
        ("veth", [POLLER], ("hypervisor-or-hardware", "C"), ("smi", "D")),
        ("veth", [], ("hypervisor-or-hardware", "D"), ("smi", "D")),
    ],
)
def test_a_gap_that_can_be_a_call_is_no_evidence_of_firmware(
    tmp_path, link, watched, beside, longer
):
    # The counter moved once; beside the shorter gap the generator stood still, in a call perhaps.
    start, end = 10 * MS + 15, 10 * MS + 200_000
    rows = held(held(normal(3_000), start, end), 20 * MS + 15, 20 * MS + 300_000)
    gaps = [(1_000_000, 1_009_000, "forwarder"), (start, end, "forwarder")]
    gaps += [(20 * MS + 15, 20 * MS + 300_000, "forwarder")]
    gaps += [(start + 20_000, end - 20_000, "generator")]
    trace = MadeTrace().vector(1_001_000, 1_008_000)
    threads = {str(thread): {} for thread in watched}
    counters = {
        name: {"smi": {"0": n, "1": n}, "threads": threads}
        for name, n in (("before", 5), ("after", 6))
    }
    dut = {"driver": "taut_forward", "options": {}, "link": link}

    trial = write_trial(tmp_path, rows, gaps, trace, meta={"dut": dut}, counters=counters)
    found = explain_trial(trial, Options(over="50us", is_guest=False))

    told = {gap["start_ns"]: gap for gap in found.gaps.to_pylist() if gap["thread"] == "forwarder"}
    verdicts = [(told[at]["cause"], told[at]["grade"]) for at in (start, 20 * MS + 15)]
    assert verdicts == [beside, longer]
    not_recorded = "its own system calls and page faults: they were not recorded"
    by_firmware = [story for story in found.worst if story.cause == "smi"]
    assert {not_recorded in story.missing for story in by_firmware} == {not watched}


def test_a_gap_of_the_generator_that_passed_while_the_packet_was_inside_blames_nobody(tmp_path):
    rows = normal(3_000)
    rows[1_000]["received_ns"] += 50_000
    gap = (rows[1_000]["sent_ns"] + 5_000, rows[1_000]["sent_ns"] + 45_000, "generator")

    trial = write_trial(tmp_path, rows, [gap], MadeTrace().vector(1, 2))

    assert only_episode(explain_trial(trial, Options(over="20us"))).cause == "unknown"


def test_of_a_device_that_sleeps_no_stall_is_told_and_its_log_is_not_all_of_it(tmp_path):
    rows = normal(3_000)
    rows[1_000]["received_ns"] += 50_000
    stats = {"gaps": {"n": 0}, "sleep": {"n": 3_000, "total_ns": 29 * MS}}
    dut = {"driver": "taut_forward", "stats": stats}
    of = {wait: tmp_path / wait for wait in ("poll", "interrupt", "adaptive:50us")}
    found = {}
    for wait, place in of.items():
        meta = {"dut": {**dut, "options": {"wait": wait}}}
        trial = write_trial(place, rows, [], MadeTrace().vector(1, 2), meta=meta)
        found[wait] = explain_trial(trial, Options(over="20us"))

    assert "none in the logs touches its way" in only_episode(found.pop("poll")).missing[0]
    for explanation in found.values():
        story = only_episode(explanation)
        assert (story.cause, story.gap) == ("unknown", None)
        assert "how long the device took to wake" in story.missing[0]
        assert any("the device sleeps until packets come" in note for note in explanation.notes)


def test_a_shootdown_is_told_with_its_sender_and_remedies(tmp_path):
    start, end = 10 * MS + 15, 10 * MS + 42_000
    rows = held(normal(3_000), start, end)
    trace = MadeTrace().call(start + 1_000, end - 2_000, FLUSH, sent_at=start)
    trace.add(start + 3_000, "tlb_flush", 1, 8)

    trial = write_trial(tmp_path, rows, [(start, end, "forwarder")], trace)
    story = only_episode(explain_trial(trial, Options(over="9us")))

    assert (story.cause, story.grade) == ("tlb-shootdown", "A")
    assert story.line == (
        "Packet 1,000 and 3 more, up to 40.9 µs late: core 1 was taken for 42.0 µs by a TLB "
        'shootdown (8 pages by "telemetry"/4711 on cpu0).'
    )
    assert BY_ID[story.cause].remedies[0] == "A05"


def test_overload_is_queueing(tmp_path):
    rows = normal(3_000)
    for row in rows[1_000:2_000]:
        row["received_ns"] += (row["seq"] - 999) * 2_000

    trial = write_trial(tmp_path, rows, trace=MadeTrace().vector(1, 2))
    found = explain_trial(trial, Options(over="100us"))

    assert [total.cause for total in found.causes] == ["queueing"]
    assert "(load)" in found.worst[0].line


def test_a_burst_is_queueing_too(tmp_path):
    rows = normal(3_000)
    burst = rows[1_000:1_100]
    for i, row in enumerate(burst):
        row["sent_ns"] = burst[0]["sent_ns"] + 100 * i
        row["received_ns"] = row["sent_ns"] + 1_000 + 900 * i

    trial = write_trial(tmp_path, rows, trace=MadeTrace().vector(1, 2))
    story = only_episode(explain_trial(trial, Options(over="30us")))

    assert story.cause == "queueing"
    assert "(burst)" in story.line


def test_a_buffer_spreads_packets_by_batching_not_by_noise(tmp_path):
    rng = np.random.default_rng(2)
    rows = [packet(s, 1_000 + int(rng.integers(0, 100_000))) for s in range(5_000)]
    trace = MadeTrace()
    gaps = [(t, t + 14_000, "forwarder") for t in range(0, 50 * MS, 4 * MS)]
    for start, end, _ in gaps:
        trace.vector(start + 5_000, end - 5_000)
    dut = {"driver": "taut_forward", "options": {"transmit": "buffered:32,100us"}, "stats": {}}

    trial = write_trial(tmp_path, rows, gaps, trace, meta={"dut": dut})
    found = explain_trial(trial)

    assert [total.cause for total in found.causes] == ["batching"]


def test_a_stall_longer_than_the_buffer_holds_is_still_seen(tmp_path):
    rng = np.random.default_rng(2)
    rows = [packet(s, 1_000 + int(rng.integers(0, 100_000))) for s in range(5_000)]
    start, end = 10 * MS, 11 * MS
    dut = {"driver": "l2fwd", "options": {}, "stats": {"gaps": {}}}
    trace = MadeTrace().switch(start, POLLER, HOG, PREEMPTED).switch(end, HOG, POLLER)

    trial = write_trial(
        tmp_path, held(rows, start, end), [(start, end, "forwarder")], trace, meta={"dut": dut}
    )
    found = explain_trial(trial, Options(over="500us"))

    assert [total.cause for total in found.causes] == ["preemption"]


def test_two_causes_in_a_row_are_two_episodes(tmp_path):
    first, second = (10 * MS, 10 * MS + 60_000), (10 * MS + 60_500, 10 * MS + 120_000)
    rows = held(held(normal(3_000), *first), *second)
    trace = MadeTrace().switch(first[0], POLLER, HOG, PREEMPTED).switch(first[1], HOG, POLLER)
    trace.add(second[0], "irq_entry", 24).add(second[1], "irq_exit", 24)

    trial = write_trial(tmp_path, rows, [(*first, "forwarder"), (*second, "forwarder")], trace)
    found = explain_trial(trial, Options(over="8us"))

    assert {total.cause: total.n_episodes for total in found.causes} == {
        "preemption": 1,
        "device-irq": 1,
    }


def test_packets_that_never_came_back_belong_to_their_neighbours(tmp_path):
    start, end = 10 * MS + 5_000, 15 * MS + 5_000
    rows = held(normal(3_000), start, end)
    rows[1_200] |= {"received_ns": None}
    rows[1_201] |= {"received_ns": None, "sent_ns": None, "flags": UNSENT}

    trial = write_trial(tmp_path, rows, [(start, end, "forwarder")], stop(start, end))
    found = explain_trial(trial, Options(over="20us"))

    story = only_episode(found)
    assert (found.causes[0].n_lost, found.causes[0].n_unsent) == (1, 1)
    assert (story.n_lost, story.n_unsent) == (1, 1)
    assert story.line.startswith(
        "Packet 1,001 and 497 more, up to 4.99 ms late, with 1 lost and 1 that could not be sent: "
    )


def test_warm_up_and_extra_rows_are_left_out(tmp_path):
    rows = [packet(s, 500_000, flags=COLD) for s in range(10)]
    rows += [packet(s) for s in range(10, 2_000)]
    rows += [extra(20, 8), extra(99_999, 128) | {"due_ns": None}]

    trial = write_trial(tmp_path, rows, trace=MadeTrace().vector(1, 2))
    found = explain_trial(trial, Options(over="20us"))

    assert (found.n_packets, found.n_tail, found.causes) == (1_990, 0, ())


def test_the_episodes_are_those_of_the_report(tmp_path):
    rng = np.random.default_rng(5)
    rows = [
        packet(s // 2, int(rng.choice([1_000, 60_000, 200_000])), direction=s % 2)
        for s in range(4_000)
    ]
    for row in rows[::97]:
        row["received_ns"] = None
    trial = write_trial(tmp_path, rows)

    found = explain_trial(trial, Options(over="50us"))

    with open_engine("duckdb") as engine:
        load_packets(engine, trial / "packets.parquet")
        expected = find_episodes(engine, None, 50_000)
    assert found.packets["episode"].null_count == _lost_alone(rows)
    assert found.episodes.num_rows >= expected.n
    assert sum(found.episodes["packets"].to_pylist()) == expected.packets


def _lost_alone(rows):
    """Packets in runs that hold no late one."""
    alone = 0
    for direction in (0, 1):
        run, has_late = 0, False
        for row in [*(r for r in rows if r["direction"] == direction), packet(0)]:
            lost = row["received_ns"] is None
            late = not lost and row["received_ns"] - row["sent_ns"] > 50_000
            if lost or late:
                run, has_late = run + lost, has_late or late
                continue
            alone += 0 if has_late else run
            run, has_late = 0, False
    return alone


def test_every_packet_above_the_threshold_has_a_verdict(tmp_path):
    rng = np.random.default_rng(7)
    rows = [packet(s, int(1_000 + rng.exponential(3_000))) for s in range(20_000)]

    found = explain_trial(write_trial(tmp_path, rows), Options(over="p99"))

    assert found.n_tail == pytest.approx(200, abs=2)
    assert found.packets["cause"].null_count == 0
    assert sum(total.n_packets for total in found.causes) == found.n_tail
    assert sum(total.tail_share for total in found.causes) == pytest.approx(1.0)


@pytest.mark.parametrize(("over", "rank"), [("p99.9", 2997), ("p99.7", 2991), ("p50", 1500)])
def test_a_percentile_is_the_packet_of_its_rank_and_no_other(tmp_path, over, rank):
    rows = [packet(s, 1_000 + s) for s in range(3_000)]

    found = explain_trial(write_trial(tmp_path, rows), Options(over=over))

    assert found.threshold_ns == 1_000 + rank - 1
    assert found.n_tail == 3_000 - rank


@pytest.mark.parametrize(
    ("over", "words"), [("p100", "not a percentile"), ("pabc", "not a percentile"), ("25", "unit")]
)
def test_a_threshold_that_is_none_is_refused(tmp_path, over, words):
    trial = write_trial(tmp_path, normal(10))

    with pytest.raises(InputError, match=words):
        explain_trial(trial, Options(over=over))


def test_a_trial_of_which_nothing_came_back_is_refused(tmp_path):
    with pytest.raises(InputError, match="no packet came back"):
        explain_trial(write_trial(tmp_path, [packet(s, None) for s in range(5)]))


def test_the_document_is_plain_json(tmp_path):
    start, end = 10 * MS + 5_000, 15 * MS + 5_000
    rows = held(normal(3_000), start, end)

    trial = write_trial(tmp_path, rows, [(start, end, "forwarder")], stop(start, end))
    document = json.loads(json.dumps(plain(as_document(explain_trial(trial)))))

    assert document["tail_packets"] in (2, 3)
    assert document["worst"][0]["gap"]["shares"][0]["label"] == "stopped"
    shares = document["worst"][0]["gap"]["shares"]
    assert sum(share["share"] for share in shares) == pytest.approx(1, abs=1e-9)
    assert document["unknown_share"] == 0
    assert "stalled" not in document["grades"]
