"""A kernel device: for each step on a packet's way a trace in which it holds one packet up."""

import numpy as np
import pytest

from made_bridge import (
    GENERATOR,
    KSOFTIRQD,
    LATE,
    NAPI_THREAD,
    NET_RX,
    RCU,
    US,
    detail,
    explained,
    verdict,
)
from made_trace import CORE, HOG, OTHER_CORE, PREEMPTED, RESCHEDULE, SLEEPS, TELEMETRY
from taut.explain import Options, explain_trial
from taut.explain.judge import kernel_path
from taut.explain.walk import steps
from taut.explain.walk.layers import Layer
from taut.explain.walk.network_runs import Carried
from taut.records.layout import EVENT_VECTORS


def test_a_core_that_wakes_up_late_is_idle_exit_and_far_beyond_the_usual_by_exclusion(tmp_path):
    def sleeps(trace, t):
        trace.tell(t + US).take(t + 66 * US).run(t + 67 * US, t + 70 * US)

    found = explained(tmp_path, sleeps)

    assert verdict(found) == ("idle-exit", "C")
    gap = found.worst[0].gap
    assert (gap.thread, gap.core) == ("softirq", CORE)
    assert sum(share.ns for share in gap.shares) == gap.end_ns - gap.start_ns == 69 * US
    assert "G05" in found.causes[0].remedies
    assert any("network softirq of core 1" in note for note in found.notes)


def test_a_core_that_wakes_up_as_slowly_as_it_often_does_is_seen(tmp_path):
    found = explained(tmp_path, lambda trace, t: trace.forward(t), 8, over="7us")

    assert [(total.cause, total.n_by_grade) for total in found.causes] == [
        ("idle-exit", {"B": found.n_tail})
    ]


# How an interrupt that was sent to the core is told, in older traces and since.
SENDINGS = [("ipi_send", CORE, 0xFF09), ("ipi_send_for", CORE | 0xFF09 << 32, 0xFF01)]


@pytest.mark.parametrize("sending", SENDINGS, ids=lambda sending: sending[0])
def test_a_core_that_polls_while_idle_and_does_not_answer_is_nobodys(tmp_path, sending):
    """No interrupt was sent to it, though others are in this trace: it was awake."""

    def polls(trace, t):
        trace.add(t - 1_000 * US, *sending, thread=GENERATOR, cpu=OTHER_CORE)
        trace.tell(t + US).take(t + 66 * US).run(t + 67 * US, t + 70 * US)

    assert verdict(explained(tmp_path, polls)) == ("hypervisor-or-hardware", "C")


@pytest.mark.parametrize("sending", SENDINGS, ids=lambda sending: sending[0])
def test_a_core_that_was_sent_an_interrupt_slept(tmp_path, sending):
    def sleeps(trace, t):
        trace.tell(t + US).add(t + US + 300, *sending, thread=GENERATOR, cpu=OTHER_CORE)
        trace.take(t + 66 * US).run(t + 67 * US, t + 70 * US)

    assert verdict(explained(tmp_path, sleeps)) == ("idle-exit", "C")


def test_another_softirq_that_ran_first(tmp_path):
    def busy(trace, t):
        trace.add(t - 5 * US, "softirq_entry", RCU, thread=0)
        trace.tell(t + US).take(t + 2 * US)
        trace.add(t + 60 * US, "softirq_exit", RCU, thread=0)
        trace.run(t + 60 * US + 10, t + 70 * US)

    found = explained(tmp_path, busy)

    assert verdict(found)[0] == "softirq"
    assert detail(found) == "RCU"


def woken_ksoftirqd(trace, t, priority=120):
    trace.switch(t - 50 * US, 0, HOG, priority=priority).tell(t + US).take(t + 2 * US, HOG)
    trace.add(t + 3 * US, "wakeup", KSOFTIRQD, CORE, thread=HOG)
    trace.switch(t + 64 * US, HOG, KSOFTIRQD, PREEMPTED)
    trace.run(t + 65 * US, t + 70 * US, thread=KSOFTIRQD)
    trace.switch(t + 71 * US, KSOFTIRQD, HOG, SLEEPS).switch(t + 75 * US, HOG, 0, SLEEPS)


def test_ksoftirqd_that_waited_for_a_hog(tmp_path):
    found = explained(tmp_path, woken_ksoftirqd)

    assert verdict(found) == ("ksoftirqd-wait", "B")
    assert detail(found) == '"hog"/200 ran'
    assert found.gap_totals[0].by == {'"hog"/200': 61 * US}
    assert 'core 1 let ksoftirqd wait for 69 µs ("hog"/200 ran).' in found.worst[0].line
    assert found.causes[0].remedies[0] == "R24"


def test_ksoftirqd_that_lost_the_core_before_the_packets_were_out(tmp_path):
    def put_off(trace, t):
        trace.add(t - 9 * US, "wakeup", KSOFTIRQD, CORE, thread=0)
        trace.switch(t - 8 * US, 0, KSOFTIRQD).tell(t + US).take(t + 2 * US, KSOFTIRQD)
        trace.switch(t + 3 * US, KSOFTIRQD, HOG, PREEMPTED, priority=49)
        trace.switch(t + 64 * US, HOG, KSOFTIRQD, SLEEPS)
        trace.run(t + 65 * US, t + 70 * US, thread=KSOFTIRQD)
        trace.switch(t + 71 * US, KSOFTIRQD, 0, SLEEPS)

    assert verdict(explained(tmp_path, put_off)) == ("ksoftirqd-wait", "B")


UNINTERRUPTIBLE = 2


def off_inside_a_softirq(number, state):
    """With PREEMPT_RT ksoftirqd may lose the core there; woken after 30 us where it slept."""

    def off(trace, t):
        trace.switch(t - 8 * US, 0, KSOFTIRQD).tell(t + US).take(t + 2 * US, KSOFTIRQD)
        trace.add(t + 3 * US, "softirq_entry", number, thread=KSOFTIRQD)
        trace.switch(t + 4 * US, KSOFTIRQD, HOG, state, priority=49)
        if state != PREEMPTED:
            trace.add(t + 30 * US, "wakeup", KSOFTIRQD, CORE, thread=HOG)
        trace.switch(t + 64 * US, HOG, KSOFTIRQD, SLEEPS)
        if number != NET_RX:
            trace.add(t + 65 * US, "softirq_exit", number, thread=KSOFTIRQD)
            trace.add(t + 65 * US, "softirq_entry", NET_RX, thread=KSOFTIRQD)
        trace.add(t + 69 * US, "napi_poll", 2 | 64 << 32, 0xAB, thread=KSOFTIRQD)
        trace.add(t + 70 * US, "softirq_exit", NET_RX, thread=KSOFTIRQD)
        trace.switch(t + 70 * US, KSOFTIRQD, 0, SLEEPS)

    return off


@pytest.mark.parametrize("number", [NET_RX, RCU])
def test_ksoftirqd_that_lost_the_core_inside_a_softirq(tmp_path, number):
    found = explained(tmp_path, off_inside_a_softirq(number, PREEMPTED))

    assert verdict(found) == ("ksoftirqd-wait", "B")
    assert found.gap_totals[0].by == {'"hog"/200': 60 * US}


def test_ksoftirqd_that_slept_inside_a_softirq_did_not_wait_for_the_core(tmp_path):
    found = explained(tmp_path, off_inside_a_softirq(NET_RX, UNINTERRUPTIBLE))

    shares = {share.label: share.ns for share in found.worst[0].gap.shares}
    assert (shares["unknown"], shares["ksoftirqd-wait"]) == (26 * US, 34 * US)


def test_what_a_used_up_budget_left_waits_for_ksoftirqd(tmp_path):
    """Nobody tells the core again: the packet was there before the run that left it."""

    def left(trace, t):
        trace.tell(t - 30 * US).take(t - 29 * US).run(t - 28 * US, t + 4 * US, work=64)
        trace.add(t + 5 * US, "wakeup", KSOFTIRQD, CORE, thread=0)
        trace.switch(t + 6 * US, 0, HOG)
        trace.switch(t + 64 * US, HOG, KSOFTIRQD, PREEMPTED)
        trace.run(t + 65 * US, t + 68 * US, work=64, thread=KSOFTIRQD)
        trace.switch(t + 70 * US, KSOFTIRQD, HOG, PREEMPTED)
        trace.switch(t + 92 * US, HOG, KSOFTIRQD, SLEEPS)
        trace.run(t + 93 * US, t + 97 * US, thread=KSOFTIRQD)
        trace.switch(t + 98 * US, KSOFTIRQD, 0, SLEEPS)

    found = explained(tmp_path, left, 96)

    assert verdict(found) == ("ksoftirqd-wait", "B")
    waits = next(total for total in found.gap_totals if total.cause == "ksoftirqd-wait")
    assert waits.by == {'"hog"/200': (58 + 22) * US}


def test_a_napi_thread_waits_like_ksoftirqd(tmp_path):
    def threaded(trace, t):
        trace.switch(t - 50 * US, 0, HOG)
        trace.add(t + US, "wakeup", NAPI_THREAD, CORE, thread=GENERATOR, cpu=OTHER_CORE)
        trace.switch(t + 64 * US, HOG, NAPI_THREAD, PREEMPTED)
        trace.run(t + 65 * US, t + 70 * US, thread=NAPI_THREAD)
        trace.switch(t + 71 * US, NAPI_THREAD, HOG, SLEEPS).switch(t + 75 * US, HOG, 0, SLEEPS)

    assert verdict(explained(tmp_path, threaded)) == ("ksoftirqd-wait", "B")


def test_what_comes_while_a_napi_thread_has_the_core_waits_from_its_sending(tmp_path):
    def away(trace, t):
        trace.switch(t - 20 * US, 0, NAPI_THREAD)
        trace.run(t - 8 * US, t - 5 * US, thread=NAPI_THREAD)
        trace.run(t + 65 * US, t + 70 * US, thread=NAPI_THREAD)
        trace.switch(t + 75 * US, NAPI_THREAD, 0, SLEEPS)

    assert verdict(explained(tmp_path, away)) == ("hypervisor-or-hardware", "C")


CALM = ([2] * 50, [1] * 50)
BACKLOG = ([64, 64, 64, 64, 64, 44], [0, 0, 50, 59, 38, 35])
"""Packets handled, and let out, by a router whose core was away for 1.4 ms (recorded)."""


def of_others(*stretches):
    """Packets of others by run, of a router that handles each of its own twice.

    A stretch may say how many packets that it let out may have left after each of its runs.
    """
    whole = [(*stretch, [0] * len(stretch[0]))[:3] for stretch in stretches]
    handled, out, later = (np.concatenate(of) for of in zip(*whole, strict=True))
    start = np.arange(len(handled)) * 10 * US
    runs = Layer(start, start + 2 * US, np.zeros(len(start), np.int64))
    return kernel_path._work(runs, Carried(out, np.empty(0, np.int64), later), handled).foreign


def test_a_backlog_of_ones_own_packets_is_nobody_elses():
    assert of_others(CALM, BACKLOG, CALM).sum() == 0


def test_others_are_told_from_a_backlog_and_from_the_trials_packet_beside_them():
    datagram = ([2 + 64], [1])
    handled, out = BACKLOG
    with_others = ([*handled[:5], handled[5] + 20], out)

    alone, both = of_others(CALM, datagram, CALM), of_others(CALM, with_others, CALM)

    assert (alone.sum(), alone[50]) == (64, 64)
    assert both.sum() == 20


def test_a_backlog_hides_no_packets_of_others_that_come_long_after_it():
    datagram = ([2 + 64], [1])

    found = of_others(CALM, BACKLOG, CALM, datagram, CALM, datagram, CALM)

    assert found[found > 0].tolist() == [64, 64]


def test_packets_that_one_look_found_after_several_runs_are_nobody_elses():
    """They are all counted with the first of these runs."""
    found_late = ([2] * 5, [5, 0, 0, 0, 0], [4, 3, 2, 1, 0])

    assert of_others(CALM, found_late, CALM).sum() == 0


def raised_and_held_off(trace, t, others):
    trace.switch(t - 50 * US, 0, HOG).tell(t + US).take(t + 2 * US, HOG)
    for at in others:
        trace.vector(t + at * US, t + at * US + US, thread=HOG)
    trace.run(t + 85 * US, t + 90 * US, thread=HOG)
    trace.switch(t + 92 * US, HOG, 0, SLEEPS)


def test_a_thread_that_has_softirqs_off_while_interrupts_come_and_go(tmp_path, monkeypatch):
    monkeypatch.setattr(steps, "_APART_NS", 40 * US)
    found = explained(tmp_path, lambda trace, t: raised_and_held_off(trace, t, (20, 70)), 90)

    assert verdict(found) == ("softirqs-off", "B")
    assert detail(found) == '"hog"/200 ran'


@pytest.mark.parametrize("others", [(), (30,), (70, 74)])
def test_interrupts_that_waited_for_the_core_as_well_do_not_prove_it(tmp_path, others):
    found = explained(tmp_path, lambda trace, t: raised_and_held_off(trace, t, others), 90)

    assert verdict(found) == ("hypervisor-or-hardware", "C")


def taken_late(trace, t):
    trace.switch(t - 50 * US, 0, HOG).tell(t + US).take(t + 64 * US, HOG)
    trace.run(t + 65 * US, t + 70 * US, thread=HOG).switch(t + 75 * US, HOG, 0, SLEEPS)


def test_an_interrupt_taken_late_by_a_core_that_was_awake_is_nobodys_in_a_guest(tmp_path):
    assert verdict(explained(tmp_path, taken_late)) == ("hypervisor-or-hardware", "C")


@pytest.mark.parametrize(
    ("moved", "expected"),
    [
        (0, ("softirqs-off", "C")),
        (None, ("softirqs-off", "D")),
        (1, ("smi", "D")),
    ],
    ids=["no firmware", "not counted", "firmware"],
)
def test_on_bare_metal_interrupts_were_off_unless_firmware_may_have_had_the_core(
    tmp_path, moved, expected
):
    smi = [{"smi": {str(CORE): n}} for n in (7, None if moved is None else 7 + moved)]
    counters = dict(zip(("before", "after"), smi, strict=True))
    found = explained(tmp_path, taken_late, counters=counters)
    found = explain_trial(found.source.trial, Options(over="20us", is_guest=False))

    assert verdict(found) == expected
    is_missing = "the counter of system management interrupts" in found.worst[0].missing
    assert is_missing == (moved is None)


def test_an_interrupt_of_a_device_inside_the_softirq(tmp_path):
    def interrupted(trace, t):
        trace.tell(t + US).take(t + 5 * US).run(t + 6 * US, t + 70 * US)
        trace.add(t + 7 * US, "irq_entry", 24, thread=0)
        trace.add(t + 67 * US, "irq_exit", 24, thread=0)

    found = explained(tmp_path, interrupted)

    assert verdict(found)[0] == "device-irq"
    assert detail(found) == "irq 24 virtio0-input.0"


def inside_the_softirq(vector):
    """An interrupt of the processor takes most of the time of the softirq."""

    def interrupted(trace, t):
        trace.tell(t + US).take(t + 5 * US).run(t + 6 * US, t + 70 * US)
        trace.vector(t + 7 * US, t + 67 * US, vector, thread=0)

    return interrupted


@pytest.mark.parametrize(
    ("vector", "cause", "name"),
    [
        ("platform", "device-irq", "platform"),
        ("spurious", "device-irq", "spurious"),
        ("thermal", "frequency", "thermal"),
        ("irq_work", "irq-work", ""),
    ],
)
def test_an_interrupt_of_the_processor_has_its_name_where_the_cause_does_not_say_it(
    tmp_path, vector, cause, name
):
    found = explained(tmp_path, inside_the_softirq(EVENT_VECTORS.index(vector)))

    assert verdict(found)[0] == cause
    assert detail(found) == name


def test_the_sender_of_a_reschedule_interrupt_is_named(tmp_path):
    def rescheduled(trace, t):
        trace.send(t + 6 * US)
        inside_the_softirq(RESCHEDULE)(trace, t)

    found = explained(tmp_path, rescheduled)

    assert verdict(found) == ("reschedule", "A")
    assert detail(found) == 'by "telemetry"/4711 on cpu0'


def test_packets_of_others_before_it_in_the_same_softirq(tmp_path):
    def storm(trace, t):
        trace.tell(t + US).take(t + 5 * US).run(t + 6 * US, t + 70 * US, work=42)

    found = explained(tmp_path, storm)

    assert verdict(found)[0] == "softirq"
    assert detail(found) == "NET_RX, 40 packets of others"


def test_a_packet_that_came_during_one_run_and_left_in_the_next_is_no_packet_of_others(tmp_path):
    """The generator found both late: each is counted with the earliest run there is for it."""

    def two_runs(trace, t):
        trace.tell(t - 6 * US).take(t - 5 * US).run(t - 4 * US, t + US, work=0)
        trace.tell(t + US + 50).run(t + 2 * US, t + 70 * US, work=4)

    def found_late(rows):
        rows[LATE - 1] |= {
            "sent_ns": rows[LATE]["sent_ns"] - 2 * US,
            "received_ns": rows[LATE]["sent_ns"] + 70 * US,
            "arrival_window_ns": 71 * US,
        }

    found = explained(tmp_path, two_runs, over="60us", trial=found_late)

    assert "softirq" not in {total.cause for total in found.causes}


def test_a_softirq_that_stood_still_without_an_event_is_nobodys(tmp_path):
    def stolen(trace, t):
        trace.tell(t + US).take(t + 5 * US).run(t + 6 * US, t + 70 * US)

    assert verdict(explained(tmp_path, stolen)) == ("hypervisor-or-hardware", "C")


def test_a_sender_on_another_core_is_named(tmp_path):
    def shot_down(trace, t):
        trace.tell(t + US).take(t + 5 * US).run(t + 6 * US, t + 70 * US)
        trace.add(t + 6 * US, "call_queue", 0xC0DE, 0xFF01, thread=TELEMETRY, cpu=OTHER_CORE)
        trace.add(t + 7 * US, "vector_entry", 2, 0xFC, thread=0)
        trace.add(t + 8 * US, "call_entry", 0xC0DE, 0xFF01, thread=0)
        trace.add(t + 66 * US, "call_exit", 0xC0DE, 0xFF01, thread=0)
        trace.add(t + 67 * US, "vector_exit", 2, 0xFC, thread=0)

    found = explained(tmp_path, shot_down)

    assert verdict(found) == ("tlb-shootdown", "A")
    assert detail(found) == 'by "telemetry"/4711 on cpu0'
