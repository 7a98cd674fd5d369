"""Queues, bursts and batches: what is the load's or the policy's, and what is a stall's."""

import numpy as np
import pyarrow.compute as pc
import pytest

from made_packets import UNSENT, VOID, packet
from made_trace import HOG, POLLER, PREEMPTED, MadeTrace, held, normal, paused, stop, write_trial
from taut.explain import Options, explain_trial
from taut.explain.judge.device import holds_of
from taut.records.documents.trial import Dut, DutStats, Holds

MS = 1_000_000
TRACE = MadeTrace().vector(1, 2)
BESIDE = (("before", 0), ("after", 1))


def causes_of(trial, over="p99.9"):
    return {c.cause: c.n_packets for c in explain_trial(trial, Options(over=over)).causes}


def overload(n=20_000, ring_ns=1_000_000):
    """A device half as fast as the load: its ring fills, then every second packet is refused."""
    full = next(s for s in range(n) if s * 1_000 >= ring_ns)
    rows = [packet(s, 1_000 + s * 1_000, gap_ns=1_000) for s in range(full)]
    for s in range(full, n):
        if s % 2:
            rows.append(packet(s, None, flags=UNSENT, gap_ns=1_000))
        else:
            rows.append(packet(s, ring_ns + s % 1_999, gap_ns=1_000))
    return rows


@pytest.mark.parametrize("over", ["p99.9", "50us"])
def test_a_standing_queue_is_queueing_and_who_was_refused_belongs_to_it(tmp_path, over):
    found = explain_trial(write_trial(tmp_path, overload(), trace=TRACE), Options(over=over))

    assert [c.cause for c in found.causes] == ["queueing"]
    assert found.causes[0].n_packets == found.n_tail
    assert (found.causes[0].n_unsent > 9_000) == (over == "50us")
    assert found.base_ns == 0


def test_a_gap_of_the_generator_does_not_make_a_standing_queue_its_own(tmp_path):
    end = overload()[5_001]["due_ns"]
    gap = (end - 900_000, end, "generator")
    rows = paused(overload(), *gap[:2])
    for row in rows[5_001:]:
        row["flags"] |= VOID  # the sender never works its backlog off
        row["due_ns"] -= 5_000

    trial = write_trial(tmp_path, rows, [gap], TRACE)

    found = causes_of(trial, "50us")
    assert found["queueing"] > 3 * found["measurer"]


def test_a_stall_on_top_of_a_standing_queue_is_seen_if_it_is_most_of_the_wait(tmp_path):
    start, end = 10 * MS, 13 * MS
    rows = held(overload(ring_ns=200_000), start, end)
    trace = MadeTrace().switch(start, POLLER, HOG, PREEMPTED).switch(end, HOG, POLLER)

    trial = write_trial(tmp_path, rows, [(start, end, "forwarder")], trace)

    assert set(causes_of(trial)) == {"preemption"}


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ({"per_packet_ns": 250}, "250 ns"),
        ({"per_packet_ns": 4_000, "work_packets": 100, "work_ns": 200_000}, "4 µs"),
    ],
)
def test_a_slow_network_function_is_work_and_no_hardware(tmp_path, log, expected):
    # Batches of 32 at 5 us each.
    rows, gaps = [], []
    for batch in range(100):
        start = batch * 160_000
        gaps.append((start, start + 160_000, "forwarder", 32))
        rows += [packet(32 * batch + i, 320_000 + (i % 3) * 1_000, gap_ns=5_000) for i in range(32)]
    stats = {"gaps": log, "ports": [{"rx": 3_200}, {"rx": 0}]}
    dut = {"driver": "taut_forward", "options": {}, "stats": stats}

    trial = write_trial(tmp_path, rows, gaps, TRACE, meta={"dut": dut})
    found = explain_trial(trial, Options(over="p50"))

    assert found.share_of("hypervisor-or-hardware") == 0
    assert set(found.gaps["cause"].to_pylist()) == {"queueing"}
    said = f"5 µs a packet, its log expects {expected}"
    assert any(said in note for note in found.notes)


@pytest.mark.parametrize(
    ("handled", "cause"), [(3_500, "queueing"), (5_800, "hypervisor-or-hardware")]
)
def test_packets_that_were_often_quick_grant_nobody_slow_ones(tmp_path, handled, cause):
    # The vCPU is away for 70 % of the time; half of the packets come while it is there.
    rows, gaps = normal(3_200), []
    for at in range(50):
        start = at * 640_000 + 15
        gaps.append((start, start + 450_000, "forwarder", 64))
        held(rows, start, start + 450_000)
    stats = {"gaps": {"per_packet_ns": 250}, "ports": [{"rx": handled}, {"rx": 0}]}
    dut = {"driver": "taut_forward", "options": {}, "stats": stats}

    trial = write_trial(tmp_path, rows, gaps, TRACE, meta={"dut": dut})
    found = explain_trial(trial, Options(over="100us", is_guest=True))

    assert set(found.gaps["cause"].to_pylist()) == {cause}


@pytest.mark.parametrize(
    ("hog_ns", "cause", "grade", "told"),
    [
        (9_000, "hypervisor-or-hardware", "C", "several causes took 57 µs together, this one"),
        (70_000, "preemption", "A", "late: core 1 was taken for 69.4 µs by another thread"),
    ],
)
def test_of_several_gaps_the_cause_with_most_is_blamed(tmp_path, hog_ns, cause, grade, told):
    # Six times 8 us of nothing, then a thread.
    rows, trace = normal(3_000), MadeTrace().vector(1, 2)
    start = rows[1_000]["sent_ns"] + 1_000
    gaps = [(at, at + 8_000, "forwarder") for at in range(start, start + 60_000, 10_000)]
    at = start + 60_000
    gaps.append((at, at + hog_ns, "forwarder"))
    trace.switch(at + 200, POLLER, HOG).switch(at + hog_ns - 200, HOG, POLLER)
    rows = held(rows, start - 1_000, start - 1_000 + max(100_000, hog_ns + 60_000))
    moved = {name: {"threads": {str(POLLER): {"nonvoluntary": n}}} for name, n in BESIDE}

    trial = write_trial(tmp_path, rows, gaps, trace, counters=moved)
    found = explain_trial(trial, Options(over="90us", is_guest=True))

    [story] = found.worst
    assert (story.cause, story.grade) == (cause, grade)
    assert told in story.line
    several = "one cause that is half of the lateness: several came together"
    assert (several in story.missing) == (grade == "C")


def test_what_is_behind_or_beside_several_causes_has_no_better_grade(tmp_path):
    # Of 100 us, 24 are nobody's and 30 a thread's. The packet before is lost, and one waits behind.
    rows, trace = normal(3_000), MadeTrace().vector(1, 2)
    sent = rows[1_000]["sent_ns"]
    gaps = [(at, at + 8_000, "forwarder") for at in range(sent + 500, sent + 30_000, 10_000)]
    at = sent + 45_000
    gaps.append((at, at + 30_000, "forwarder"))
    trace.switch(at + 200, POLLER, HOG).switch(at + 29_800, HOG, POLLER)
    moved = {name: {"threads": {str(POLLER): {"nonvoluntary": n}}} for name, n in BESIDE}
    rows[999]["received_ns"], rows[1_000]["received_ns"] = None, sent + 101_000
    behind = rows[1_009]
    behind["received_ns"] = behind["sent_ns"] + 110_000
    for row in rows[1_001:1_009]:
        row["received_ns"] = sent + 102_000

    trial = write_trial(tmp_path, rows, gaps, trace, counters=moved)
    found = explain_trial(trial, Options(over="15us", is_guest=True))

    [story] = found.worst
    assert (story.cause, story.grade, story.worst_seq) == ("preemption", "C", 1_009)
    assert "several causes took 46 µs together, this one the most: core 1" in story.line
    grades = dict(zip(*found.packets.select(["seq", "grade"]).to_pydict().values(), strict=True))
    assert (grades[999], grades[1_009]) == ("C", "C")


@pytest.mark.parametrize(
    ("n", "cause"), [(30, "queueing"), (4, "hypervisor-or-hardware")], ids=["its own", "a stall"]
)
def test_a_few_slow_packets_are_no_gap_and_say_what_many_cost(tmp_path, n, cause):
    # 700 ns a packet: the log expects 250, and calls an iteration of one or two no gap.
    start, end = 20 * MS, 20 * MS + 21_000
    rows = held(normal(5_000), start, end)
    log = {"per_packet_ns": 250, "work_packets": 4_000, "work_ns": 4_000 * 700}
    stats = {"gaps": log, "ports": [{"rx": 5_000}, {"rx": 0}]}
    dut = {"driver": "taut_forward", "options": {}, "stats": stats}

    gaps = [(start, end, "forwarder", n)]
    found = explain_trial(
        write_trial(tmp_path, rows, gaps, TRACE, meta={"dut": dut}), Options(over="5us")
    )

    assert set(found.gaps["cause"].to_pylist()) == {cause}


@pytest.mark.parametrize(
    ("quickest_ns", "cause"), [(None, "queueing"), (9_600, "hypervisor-or-hardware")]
)
def test_what_lone_packets_take_is_not_granted_to_many(tmp_path, quickest_ns, cause):
    # Of 990 ns most is the iteration's, which has one packet: another gap of 32 took 300 each.
    start, end = 20 * MS, 20 * MS + 50_000
    rows = held(normal(5_000), start, end)
    log = {"per_packet_ns": 250, "work_packets": 4_000, "work_ns": 4_000 * 990}
    stats = {"gaps": log, "ports": [{"rx": 5_000}, {"rx": 0}]}
    dut = {"driver": "taut_forward", "options": {}, "stats": stats}
    gaps = [(start, end, "forwarder", 32)]
    if quickest_ns is not None:
        gaps.insert(0, (10 * MS, 10 * MS + quickest_ns, "forwarder", 32))

    trial = write_trial(tmp_path, rows, gaps, TRACE, meta={"dut": dut})
    found = explain_trial(trial, Options(over="15us"))

    assert {story.cause for story in found.worst} == {cause}


def over_kernel_ports(tmp_path, work_ns):
    """Nothing recorded for 366 us, then 32 packets in 72 us; the log allows 10 us a packet."""
    start, end = 20 * MS, 20 * MS + 438_000
    rows = held(normal(5_000), start, end - 72_000)
    counted = {"per_packet_ns": 10_000, "work_packets": 1_000, "work_ns": 1_000 * work_ns}
    stats = {"gaps": counted, "ports": [{"rx": 5_000}, {"rx": 0}]}
    dut = {"driver": "taut_forward", "options": {}, "link": "veth", "stats": stats}
    gaps = [(start, end, "forwarder", 32)]
    return write_trial(tmp_path, rows, gaps, TRACE, meta={"dut": dut})


@pytest.mark.parametrize(
    ("work_ns", "cause"), [(3_000, "hypervisor-or-hardware"), (9_000, "queueing")]
)
def test_packets_in_a_gap_are_granted_what_they_usually_take(tmp_path, work_ns, cause):
    found = explain_trial(over_kernel_ports(tmp_path, work_ns), Options(over="50us"))

    assert [c.cause for c in found.causes] == [cause]
    assert "behind 0 packets" not in found.worst[0].line


def test_packets_in_shared_memory_are_granted_cold_caches(tmp_path):
    start, end = 20 * MS, 20 * MS + 9_200
    counted = {"per_packet_ns": 250, "work_packets": 1_000, "work_ns": 1_000 * 60}
    dut = {"driver": "taut_forward", "options": {}, "stats": {"gaps": counted}}
    rows, gaps = held(normal(5_000), start, end), [(start, end, "forwarder", 32)]

    trial = write_trial(tmp_path, rows, gaps, TRACE, meta={"dut": dut})
    found = explain_trial(trial, Options(over="5us"))

    assert found.gaps["cause"].to_pylist() == ["queueing"]


def test_packets_of_one_transmit_call_stand_behind_each_other(tmp_path):
    rows = normal(3_000)
    burst = rows[1_000:1_064]
    for i, row in enumerate(burst):
        row["sent_ns"] = burst[0]["sent_ns"]
        row["received_ns"] = row["sent_ns"] + 1_000 + 900 * i

    trial = write_trial(tmp_path, rows, trace=TRACE)
    found = explain_trial(trial, Options(over="3us"))

    assert {c.cause: c.n_packets for c in found.causes} == {"queueing": 61}
    assert "(burst)" in found.worst[0].line


def test_the_generator_may_have_more_gaps_than_the_device(tmp_path):
    start, end = 20 * MS + 500, 25 * MS
    rows = paused(normal(3_000), start, end)
    gaps = [(t * MS + 3_000, t * MS + 5_000, "generator") for t in range(1, 9)]
    gaps += [(start, end, "generator"), (MS, MS + 2_000, "forwarder")]

    trial = write_trial(tmp_path, rows, gaps, TRACE)

    assert causes_of(trial, "20us") == {"measurer": 1}


def test_a_stall_longer_than_it_takes_to_fill_a_batch_is_no_batching(tmp_path):
    # 32 packets at 1 us each: nothing waits for the timer of 100 us.
    rng = np.random.default_rng(3)
    rows = [packet(s, 1_000 + int(rng.integers(0, 31_000)), gap_ns=1_000) for s in range(20_000)]
    start, end = 10 * MS, 10 * MS + 90_000
    trace = MadeTrace().switch(start, POLLER, HOG, PREEMPTED).switch(end, HOG, POLLER)
    dut = {"driver": "taut_forward", "options": {"transmit": "buffered:32,100us"}, "stats": {}}

    rows = held(rows, start, end)
    trial = write_trial(tmp_path, rows, [(start, end, "forwarder")], trace, meta={"dut": dut})

    assert set(causes_of(trial, "40us")) == {"preemption"}
    assert set(causes_of(trial, "20us")) == {"preemption", "batching"}


def test_a_buffer_without_a_timer_holds_until_it_is_full(tmp_path):
    rng = np.random.default_rng(3)
    rows = [packet(s, 1_000 + int(rng.integers(0, 310_000))) for s in range(5_000)]
    dut = {"driver": "taut_forward", "options": {"transmit": "buffered:32,none"}, "stats": {}}

    trial = write_trial(tmp_path, rows, trace=TRACE, meta={"dut": dut})

    assert set(causes_of(trial)) == {"batching"}


@pytest.mark.parametrize(
    ("transmit", "expected"),
    [
        ("buffered", Holds(32, 100_000)),
        ("buffered:8", Holds(8, 100_000)),
        ("buffered:8,20us", Holds(8, 20_000)),
        ("buffered:drain=none,packets=64", Holds(64, None)),
        ("buffered:32,0us", Holds(32, None)),
        ("eager", None),
    ],
)
def test_what_a_policy_holds_back_is_read_from_its_options(transmit, expected):
    assert holds_of(Dut(driver="taut_forward", options={"transmit": transmit})) == expected


@pytest.mark.parametrize(
    ("stats", "expected"),
    [
        (DutStats("buffered", Holds(8, 20_000)), Holds(8, 20_000)),
        (DutStats("buffered", Holds(8, None)), Holds(8, None)),
        (DutStats("eager", None), None),
    ],
)
def test_what_the_program_understood_counts_before_what_it_was_told(stats, expected):
    told = {"transmit": "buffered:32,100us"}

    assert holds_of(Dut(driver="taut_forward", options=told, stats=stats)) == expected


def test_what_a_device_says_that_it_holds_counts_before_what_its_driver_is_known_to():
    stats = DutStats(holds=Holds(64, 50_000))

    assert holds_of(Dut(driver="l2fwd", stats=stats)) == Holds(64, 50_000)
    assert holds_of(Dut(driver="of_a_plugin", stats=stats)) == Holds(64, 50_000)
    assert holds_of(Dut(driver="l2fwd")) == Holds(32, 100_000)


def test_a_short_stall_in_the_drain_of_a_long_one_leaves_the_rest_of_the_queue_to_that(tmp_path):
    # The device has 1.4 times the load, and some 60 us of the queue are left at the second stall.
    stalls = [(10 * MS, 15 * MS), (27 * MS + 300_000, 27 * MS + 360_000)]
    rows, free_ns = normal(5_000), 0
    for row in rows:
        done_ns = max(row["sent_ns"], free_ns) + 7_143
        for start, end in stalls:
            done_ns = done_ns + end - start if start <= done_ns < end else done_ns
        row["received_ns"] = free_ns = done_ns
    gaps = [(*stall, "forwarder") for stall in stalls]
    trace = stop(*stalls[1])
    trace.switch(stalls[0][0], POLLER, HOG, PREEMPTED).switch(stalls[0][1], HOG, POLLER)

    trial = write_trial(tmp_path, rows, gaps, trace)
    found = explain_trial(trial, Options(over="20us"))

    assert {total.cause for total in found.causes} == {"preemption", "stopped"}
    assert found.causes[0].n_packets > 1_500


def test_below_the_median_the_excess_is_what_exceeds_the_threshold(tmp_path):
    start, end = 10 * MS + 5_000, 15 * MS + 5_000
    rows = held(normal(3_000), start, end)

    trial = write_trial(tmp_path, rows, [(start, end, "forwarder")], stop(start, end))
    found = explain_trial(trial, Options(over="500ns"))

    assert found.n_tail == 3_000
    least = min(pc.subtract(found.packets["received_ns"], found.packets["sent_ns"]).to_pylist())
    assert min(found.packets["excess_ns"].to_pylist()) == least - 500 > 0
    assert {c.cause: c.n_packets for c in found.causes}["stopped"] == pytest.approx(500, abs=3)


def test_what_was_lost_long_before_a_late_packet_does_not_share_its_cause(tmp_path):
    """10 ms of packets are lost; the first one back is late, for the generator stood still."""
    rows = normal(3_000)
    for row in rows[1_000:2_000]:
        row["received_ns"] = None
    start = rows[2_000]["sent_ns"] + 500
    gap = (start, start + 200_000, "generator")

    trial = write_trial(tmp_path, paused(rows, *gap[:2]), [gap], TRACE)
    found = explain_trial(trial, Options(over="20us"))

    lost = {c.cause: c.n_lost for c in found.causes}
    assert lost["measurer"] <= 60
    assert found.packets["relation"].to_pylist().count("unexplained") == 1_000 - lost["measurer"]


def test_what_was_lost_long_after_a_late_packet_does_not_share_its_cause(tmp_path):
    start, end = 10 * MS + 5_000, 10 * MS + 205_000
    rows = held(normal(3_000), start, end)
    after = next(row["seq"] for row in rows if row["sent_ns"] > end - 40_000)
    for row in rows[after:]:
        row["received_ns"] = None

    trial = write_trial(tmp_path, rows, [(start, end, "forwarder")], stop(start, end))
    found = explain_trial(trial, Options(over="20us"))

    # Those sent in the last 40 us of the stall, and until three times its length has passed.
    assert {c.cause: c.n_lost for c in found.causes} == {"stopped": 64}


def test_all_that_was_lost_in_a_long_stall_shares_its_cause(tmp_path):
    """The device's ring had room for a fifth of what came meanwhile."""
    start, end = 10 * MS + 5_000, 15 * MS + 5_000
    rows = held(normal(3_000), start, end)
    for row in rows[1_100:1_500]:
        row["received_ns"] = None

    trial = write_trial(tmp_path, rows, [(start, end, "forwarder")], stop(start, end))
    found = explain_trial(trial, Options(over="20us"))

    assert {c.cause: c.n_lost for c in found.causes} == {"stopped": 400}
