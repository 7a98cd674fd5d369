"""A device that stands still lets no packet out: held to it over every kind of device.

Each trial is made so that its log or its events claim a stall that goes on after packets have come
out. Whatever is said of it in the end, no stall that a packet is blamed on may hold one.
"""

from itertools import pairwise

import numpy as np
import pytest

from made_packets import packet
from made_trace import (
    HOG,
    KWORKER,
    POLLER,
    PREEMPTED,
    SLEEPS,
    VMSTAT,
    MadeTrace,
    held,
    normal,
    paused,
    write_trial,
)
from taut.explain import Options, as_document, explain_trial
from taut.explain.read.passages import AFTER_ALL, BEFORE_ALL, Passages
from taut.records.documents.explanation import VetoCounts

MS, US = 1_000_000, 1_000
START, BACK, END = 10 * MS, 14 * MS, 18 * MS
"""A stall that ends at BACK and is said to last until END."""
MARGIN_NS = 500


def device(driver, link="memif", **more):
    return {"dut": {"driver": driver, "link": link, "options": {}, "stats": None, **more}}


LOGS = device("taut_forward", stats={"gaps": {"per_packet_ns": 250}})
HOLDS = device(
    "taut_forward",
    stats={"gaps": {"per_packet_ns": 250}, "holds": {"packets": 32, "drain_ns": 100 * US}},
)
PROGRAM = device("testpmd", threads=[POLLER])
SLEEPER = device("command", "veth", threads=[POLLER])
BRIDGE = device("linux_bridge", "veth", threads=None)
FLOORS = [device("loopback", "memif", threads=None), device("loopback", "veth", threads=None)]


def ticking(trace, until=30 * MS, thread=POLLER):
    """Interrupts of the device's core, which tell who has it."""
    for t in range(100 * US, until, MS):
        if not START <= t < END:
            trace.vector(t, t + US, thread=thread)
    return trace


def unseen_return():
    """The kernel did not note the switch back; the next event of the thread is at END."""
    return ticking(MadeTrace()).switch(START, POLLER, HOG, PREEMPTED).vector(END, END + US)


def idle_core(works_ns=4 * US):
    """Some thread ran once; then the core idles but for softirqs, as a kernel device's does."""
    trace = MadeTrace().vector(100 * US, 101 * US, thread=HOG).vector(MS, MS + US, thread=HOG)
    trace.switch(2 * MS, HOG, 0, SLEEPS)
    for t in range(3 * MS, 30 * MS, 100 * US):
        trace.add(t, "softirq_entry", 3, thread=0)
        trace.add(t + works_ns, "softirq_exit", 3, thread=0)
    return trace.switch(30 * MS, 0, HOG)


def stalls_with_packets(found, rows):
    """Stalls that packets are blamed on, though packets passed the device inside them."""
    wrong = []
    passed = [(r["sent_ns"], r["received_ns"]) for r in rows if r["received_ns"] and r["sent_ns"]]
    sent, back = np.array(passed).T
    for of in found.source.verdicts:
        is_generator = of.spans.thread == "generator"
        blamed = set()
        for row in found.packets.to_pylist():
            is_tied = row["relation"] in ("stalled", "queued behind it", "measurer")
            is_its = (row["cause"] == "measurer") == is_generator
            if row["gap"] is not None and is_tied and is_its:
                blamed.add(row["gap"])
        for gap in blamed:
            start, end = of.spans.start_ns[gap] + MARGIN_NS, of.spans.end_ns[gap] - MARGIN_NS
            inside = (sent >= start) & (back <= end)
            if inside.sum() > of.spans.n_packets[gap]:
                wrong.append((of.spans.thread, int(gap), int(inside.sum())))
    return wrong


CLAIMS = {
    "a logged gap": (LOGS, [(START, END, "forwarder")], None),
    "a logged gap of a device that holds packets": (HOLDS, [(START, END, "forwarder")], None),
    "a switch that was not noted": (PROGRAM, [], unseen_return),
    "a switch that was not noted, over veth": (
        device("testpmd", "veth", threads=[POLLER]),
        [],
        unseen_return,
    ),
    "threads that nobody named": (device("testpmd"), [], unseen_return),
    "an idle core of a bridge": (BRIDGE, [], idle_core),
    "an idle core of a bridge of an older run": (device("linux_bridge", "veth"), [], idle_core),
    "an idle core beside a floor": (FLOORS[0], [], idle_core),
    "an idle core beside a floor over veth": (FLOORS[1], [], idle_core),
    "a thread that waits for packets": (SLEEPER, [], idle_core),
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_no_packet_is_blamed_on_a_stall_that_another_one_passed(tmp_path, claim):
    meta, gaps, trace = CLAIMS[claim]
    rows = held(normal(3_000), START, BACK)
    events = ticking(MadeTrace()) if trace is None else trace()

    found = explain_trial(write_trial(tmp_path, rows, gaps, events, meta), Options(over="20us"))

    assert found.n_tail > 300
    assert stalls_with_packets(found, rows) == []
    assert {c.cause for c in found.causes}.isdisjoint({"throttled", "syscall"})


def test_a_stall_is_cut_where_packets_came_out_and_keeps_its_cause_before(tmp_path):
    rows = held(normal(3_000), START, BACK)

    trial = write_trial(tmp_path, rows, [], unseen_return(), PROGRAM)
    found = explain_trial(trial, Options(over="20us"))

    story = found.worst[0]
    assert (story.cause, story.gap.start_ns) == ("preemption", START)
    assert BACK <= story.gap.end_ns <= BACK + 20 * US
    assert found.vetoed.device_stalls == 1


def test_the_next_switch_away_begins_a_stall_of_its_own(tmp_path):
    """It shows that the thread was back, though neither a switch nor an interrupt says since when.

    Who has the core afterwards is no longer the one that packets speak against.
    """
    trace = ticking(MadeTrace(), until=START).switch(START, POLLER, HOG, PREEMPTED)
    trace.switch(END, POLLER, HOG, PREEMPTED).switch(END + MS, HOG, POLLER)
    rows = held(held(normal(3_000), START, BACK), END, END + MS)

    trial = write_trial(tmp_path, rows, [], trace, PROGRAM)
    found = explain_trial(trial, Options(over="20us"))

    assert {total.cause for total in found.causes} == {"preemption"}
    stalls = sorted((story.gap.start_ns, story.gap.end_ns) for story in found.worst)
    assert [start for start, _ in stalls] == [START, END]
    assert BACK <= stalls[0][1] <= BACK + 20 * US
    assert found.vetoed.device_stalls == 1


def test_a_work_item_does_not_last_beyond_the_packets_that_came_out(tmp_path):
    trace = ticking(MadeTrace()).switch(START, POLLER, KWORKER, PREEMPTED)
    trace.add(START + US, "work_entry", VMSTAT, 1, thread=KWORKER).vector(END, END + US)
    rows = held(normal(3_000), START, BACK)

    trial = write_trial(tmp_path, rows, [], trace, PROGRAM)
    found = explain_trial(trial, Options(over="20us"))

    assert found.worst[0].cause == "workqueue"
    assert found.worst[0].gap.end_ns <= BACK + 20 * US


@pytest.mark.parametrize("meta", [LOGS, HOLDS], ids=["logs", "holds packets"])
def test_what_was_vetoed_is_counted_in_the_document(tmp_path, meta):
    rows = held(normal(3_000), START, BACK)

    trial = write_trial(tmp_path, rows, [(START, END, "forwarder")], ticking(MadeTrace()), meta)
    document = as_document(explain_trial(trial, Options(over="20us")))

    assert document.vetoed == VetoCounts(device_stalls=1, generator_stalls=0, packets=0)


def test_a_true_stall_is_left_alone(tmp_path):
    rows = held(normal(3_000), START, END)
    trace = ticking(MadeTrace()).switch(START, POLLER, HOG, PREEMPTED).switch(END, HOG, POLLER)

    for meta, gaps in ((LOGS, [(START, END, "forwarder")]), (PROGRAM, [])):
        folder = tmp_path / meta["dut"]["driver"]
        found = explain_trial(write_trial(folder, rows, gaps, trace, meta), Options(over="20us"))
        assert {c.cause for c in found.causes} == {"preemption"}
        assert found.vetoed.n == 0


def test_an_iteration_may_send_what_it_took_in_at_its_end(tmp_path):
    # Preempted before its receive call, it takes in what came meanwhile, and logs so many packets.
    rows = held(normal(3_000), START, BACK)
    end = BACK + 30 * US
    n = sum(row["sent_ns"] > START and row["received_ns"] < end for row in rows)
    trace = ticking(MadeTrace()).switch(START, POLLER, HOG, PREEMPTED).switch(BACK, HOG, POLLER)
    gaps = [(START, end, "forwarder", n)]

    found = explain_trial(write_trial(tmp_path, rows, gaps, trace, LOGS), Options(over="20us"))

    assert found.vetoed.n == 0
    assert {c.cause for c in found.causes} == {"preemption"}


@pytest.mark.parametrize("n_kept", [20, 60])
def test_an_iteration_may_send_what_was_kept_from_earlier_ones(tmp_path, n_kept):
    # Two ports kept up to 32 each. It sends all, takes in one packet and is preempted.
    rows = held(normal(3_000), START, END)
    kept = [row for row in rows if row["sent_ns"] < START][-n_kept:]
    for at, row in enumerate(kept):
        row["received_ns"] = START + 5 * US + 50 * at
    trace = ticking(MadeTrace()).switch(START + 10 * US, POLLER, HOG, PREEMPTED)
    trace.switch(END, HOG, POLLER)
    gaps = [(START, END, "forwarder", 1)]

    found = explain_trial(write_trial(tmp_path, rows, gaps, trace, HOLDS), Options(over="1ms"))

    assert found.vetoed.n == 0
    assert {c.cause for c in found.causes} == {"preemption"}


def test_a_generator_that_receives_did_not_stand_still(tmp_path):
    rows = paused(normal(3_000), START, BACK)

    trial = write_trial(tmp_path, rows, [(START, END, "generator")], MadeTrace().vector(1, 2))
    found = explain_trial(trial, Options(over="20us"))

    assert found.vetoed.generator_stalls == 1
    assert stalls_with_packets(found, rows) == []
    assert BACK <= found.gaps["end_ns"].to_pylist()[0] <= BACK + 20 * US


def test_a_packet_that_was_back_before_a_stall_ended_is_not_blamed_on_it(tmp_path):
    # On its way when the stall is said to begin, and back in its middle: over veth it may have been
    # in a queue behind the device, and says nothing of the stall; nor does the stall of it.
    rows = [packet(s, 1_000, gap_ns=200 * US) for s in range(500)]
    rows[50]["received_ns"] = rows[50]["sent_ns"] + 150 * US
    start = rows[50]["sent_ns"] + US
    trace = MadeTrace().vector(100, 200).vector(90 * MS, 90 * MS + 100)
    trace.switch(start, POLLER, HOG, PREEMPTED).switch(start + 170 * US, HOG, POLLER)
    meta = device("testpmd", "veth", threads=[POLLER])

    found = explain_trial(write_trial(tmp_path, rows, [], trace, meta), Options(over="50us"))

    assert [c.cause for c in found.causes] == ["unknown"]
    assert found.vetoed.packets == 1


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["logs", "program"])
def test_whatever_is_claimed_at_random_no_blamed_stall_holds_a_packet(tmp_path, seed, kind):
    rng = np.random.default_rng(seed)
    rows, gaps, trace = normal(6_000), [], MadeTrace()
    edges = np.sort(rng.choice(58_000, 40, replace=False)) * US + US
    for start, end in list(pairwise(edges.tolist()))[::2]:
        true_end = int(rng.integers(start, end + 1))
        rows = held(rows, start, true_end)
        gaps.append((start, end, "forwarder"))
        trace.switch(start, POLLER, HOG, PREEMPTED)
        if rng.integers(2):
            trace.vector((start + end) // 2, (start + end) // 2 + 300, thread=HOG)
        if rng.integers(2):
            trace.switch(end, HOG, POLLER)
        else:
            trace.vector(end, end + 300)
    meta, gaps = (LOGS, gaps) if kind == "logs" else (PROGRAM, [])

    found = explain_trial(write_trial(tmp_path, rows, gaps, trace, meta), Options(over="15us"))

    assert found.n_tail > 100
    assert stalls_with_packets(found, rows) == []


def test_a_queue_behind_a_bridge_that_let_nothing_out_is_a_guess_at_most_and_not_load(tmp_path):
    rows = held(normal(3_000), START, BACK)

    found = explain_trial(write_trial(tmp_path, rows, [], idle_core(), BRIDGE), Options("20us"))

    # When the core was told of the packets was not recorded.
    assert {c.cause for c in found.causes} <= {"unknown", "idle-exit"}
    assert found.worst[0].grade == "D"


def test_a_queue_of_load_in_a_bridge_is_still_queueing(tmp_path):
    rows = normal(3_000)
    for row in rows[1_000:2_000]:
        row["received_ns"] += (row["seq"] - 999) * 2_000

    trace = idle_core(works_ns=99 * US)
    found = explain_trial(write_trial(tmp_path, rows, [], trace, BRIDGE), Options("100us"))

    assert [c.cause for c in found.causes] == ["queueing"]


def test_what_passed_is_counted_from_the_first_poll_that_did_not_find_it(tmp_path):
    rows = normal(100)
    trial = write_trial(tmp_path, rows)
    start, end = np.array([100 * US, 2 * MS]), np.array([200 * US, 3 * MS])

    passed = Passages(trial / "packets.parquet", "memif").inside(start, end)

    assert passed.n.tolist() == [10, 0]
    assert passed.first_ns.tolist() == [rows[10]["received_ns"], AFTER_ALL]
    assert passed.before_ns.tolist() == [rows[9]["received_ns"], rows[99]["received_ns"]]
    assert passed.after_ns.tolist() == [rows[20]["received_ns"], AFTER_ALL]
    empty = np.empty(0, np.int64)
    assert len(Passages(trial / "packets.parquet").inside(empty, empty).n) == 0
    none = Passages(trial / "packets.parquet").inside(np.array([0]), np.array([1]))
    assert (none.n[0], none.before_ns[0]) == (0, BEFORE_ALL)
