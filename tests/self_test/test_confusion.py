"""Each act and each verdict accounted for; traces by hand, a poller on core 1."""

import json

import numpy as np

from made_trace import (
    CORE,
    FLUSH,
    HOG,
    OTHER_CORE,
    POLLER,
    PREEMPTED,
    TELEMETRY,
    TICK,
    MadeTrace,
    gap_rows,
    notes,
)
from taut.explain import causes, explain_gaps
from taut.records.documents.json_form import plain
from taut.self_test.acts import Acts
from taut.self_test.confusion import MOST_MISSES, as_document, confuse, merge

US = 1_000
MS = 1_000_000
INJECTOR = TELEMETRY
LEAST = 2 * US
TIMERFD = 0xFF10


def acts(*us: int, length_us: int = 5, thread: int = INJECTOR) -> Acts:
    start = np.array(us, np.int64) * US
    return Acts(start, start + length_us * US, np.full(len(us), thread))


def judged(trace: MadeTrace, *gaps: tuple[int, int], **changes):
    """Gaps in microseconds, judged."""
    rows = gap_rows(*((a * US, b * US, "noise") for a, b in gaps))
    found = explain_gaps(rows, trace.events(), CORE, notes(**changes))
    return found.source.verdicts[0]


def flushes(*us: int, sender: int = INJECTOR, trace: MadeTrace | None = None) -> MadeTrace:
    """A shootdown of seven microseconds at each time."""
    trace = trace or MadeTrace()
    for t in us:
        trace.call(t * US, (t + 7) * US, FLUSH, csd=t, sent_at=t * US - 500, sender=sender)
    return trace


def test_the_gap_with_the_acts_own_evidence_counts_and_not_the_one_that_shares_more_time():
    trace = flushes(1_010).vector(1_000 * US, 1_007 * US)
    gaps = judged(trace, (999, 1_008), (1_009, 1_018))

    found = confuse(causes.TLB_SHOOTDOWN, acts(1_001), gaps, LEAST)

    assert (found.n_felt, found.n_right, found.recall) == (1, 1, 1.0)
    assert (found.n_said, found.n_at_act, found.precision_raw) == (1, 1, 1.0)
    assert found.sender == 1.0


def test_an_act_without_a_gap_that_counts_is_unfelt():
    trace = flushes(1_001)
    gaps = judged(trace, (1_000, 1_001), (9_000, 9_010))

    found = confuse(causes.TLB_SHOOTDOWN, acts(1_000), gaps, LEAST)

    assert (found.n_felt, found.n_unfelt, found.recall, found.found) == (0, 1, None, None)


def test_a_gap_after_the_act_without_its_evidence_is_not_of_the_act():
    trace = MadeTrace().vector(1_060 * US, 1_068 * US)

    found = confuse(causes.TLB_SHOOTDOWN, acts(1_000), judged(trace, (1_059, 1_069)), LEAST)

    assert found.n_unfelt == 1


def test_a_share_beside_a_larger_cause_is_found_but_not_right():
    trace = flushes(1_010)
    trace.switch(1_020 * US, POLLER, HOG, PREEMPTED).switch(1_220 * US, HOG, POLLER)

    found = confuse(causes.TLB_SHOOTDOWN, acts(1_009), judged(trace, (1_008, 1_222)), LEAST)

    assert (found.recall, found.found) == (0.0, 1.0)
    assert dict(found.beside) == {"preemption": 1}
    assert not found.why_missed


def test_a_share_shorter_than_twice_the_threshold_beside_a_larger_cause_is_missed():
    trace = MadeTrace().call(1_010 * US, 1_011 * US, FLUSH, sent_at=1_009 * US)
    trace.switch(1_020 * US, POLLER, HOG, PREEMPTED).switch(1_220 * US, HOG, POLLER)

    found = confuse(causes.TLB_SHOOTDOWN, acts(1_009), judged(trace, (1_008, 1_222)), LEAST)

    assert (found.found, list(found.why_missed)) == (
        0.0,
        ["its own share was shorter than twice the threshold"],
    )


def test_each_miss_is_told_by_what_the_gap_held():
    trace = MadeTrace().vector(1_000 * US, 1_008 * US)
    trace.switch(3_000 * US, POLLER, HOG, PREEMPTED).switch(3_090 * US, HOG, POLLER)
    lost = 5_000 * US
    trace.add(lost, "lost", 10, lost + 20 * US)
    gaps = judged(trace, (999, 1_009), (2_000, 2_010), (2_999, 3_091), (4_990, 5_030))

    found = confuse(causes.SOFTIRQ, acts(1_001, 2_001, 3_010, 5_001), gaps, LEAST)

    assert sorted(found.why_missed) == [
        "events of the core were lost in the gap",
        "the gap held no event at all",
        "the gap held timer and nothing of the act",
        "the thread was off its core at the time: preemption",
    ]
    assert found.recall == found.found == 0.0
    [timer, *_] = found.misses
    assert (timer.at_ns, timer.gap_ns, timer.verdict) == (1_001 * US, 10 * US, "timer")
    assert sum(timer.shares.values()) == timer.gap_ns


def test_at_most_fifty_misses_are_told_and_all_are_counted():
    at = range(1_000, 1_000 + 70 * 1_000, 1_000)
    gaps = judged(MadeTrace().vector(1, 2), *((t, t + 9) for t in at))

    found = confuse(causes.SOFTIRQ, acts(*at), gaps, LEAST)

    assert sum(found.why_missed.values()) == 70
    assert len(found.misses) == MOST_MISSES


def test_another_process_doing_the_same_is_no_false_verdict_but_counted_apart():
    trace = flushes(9_000, sender=HOG, trace=flushes(1_000, 20_000))
    gaps = judged(trace, (999, 1_008), (8_999, 9_008), (19_999, 20_008))

    found = confuse(causes.TLB_SHOOTDOWN, acts(1_000, 20_000), gaps, LEAST)

    assert (found.n_said, found.n_at_act, found.n_others, found.n_unexplained) == (3, 2, 1, 0)
    assert dict(found.others) == {'by "hog"/200 on cpu0': 1}
    assert found.precision == 1.0
    assert found.precision_raw == 2 / 3


def test_the_injectors_own_sending_at_no_noted_act_is_its_own():
    trace = flushes(1_000, 9_000, 20_000)
    gaps = judged(trace, (999, 1_008), (8_999, 9_008), (19_999, 20_008))

    found = confuse(causes.TLB_SHOOTDOWN, acts(1_000, 20_000), gaps, LEAST)

    assert (found.n_at_act, found.n_injectors, found.n_others) == (2, 1, 0)


def test_a_verdict_nothing_accounts_for_costs_precision():
    trace = MadeTrace()
    for t in (1_000, 9_000, 20_000):
        trace.add(t * US, "syscall_entry", 0).add((t + 30) * US, "syscall_exit", 0)
    gaps = judged(trace, (999, 1_031), (8_999, 9_031), (19_999, 20_031))

    found = confuse(causes.SYSCALL, acts(1_000, 20_000, length_us=30), gaps, LEAST)

    assert (found.n_said, found.n_unexplained) == (3, 1)
    assert found.precision == found.precision_raw == 2 / 3


def test_what_the_machine_does_by_itself_at_the_same_rate_is_taken_off():
    trace = flushes(9_000, sender=HOG, trace=flushes(1_000, 20_000))
    gaps = judged(trace, (999, 1_008), (8_999, 9_008), (19_999, 20_008))
    found = confuse(causes.TLB_SHOOTDOWN, acts(1_000, 20_000), gaps, LEAST)

    assert found.precision_less(0) == 2 / 3
    assert found.precision_less(1) == 1.0
    assert found.precision_less(9) == 1.0


def test_a_tick_at_an_act_is_not_the_timer_that_was_injected():
    trace = MadeTrace()
    trace.add(1_000 * US, "vector_entry", 0, 0xEC).add(1_002 * US, "timer_entry", TICK)
    trace.add(1_008 * US, "vector_exit", 0, 0xEC)
    functions = {str(TICK): "tick_nohz_handler", str(TIMERFD): "timerfd_tmrproc"}
    gaps = judged(trace, (999, 1_009), functions=functions)

    found = confuse(causes.TIMER, acts(1_001), gaps, LEAST)

    # The verdict of the gap at the act is the one that was wanted; but what comes later is the
    # tick's alone, and no evidence of an act.
    assert (found.n_right, found.n_at_act) == (1, 1)
    assert confuse(causes.TIMER, acts(940), gaps, LEAST).n_unfelt == 1


def test_a_sender_that_is_somebody_else_is_named_but_not_right():
    trace = flushes(1_000, sender=HOG)

    found = confuse(causes.TLB_SHOOTDOWN, acts(1_000), judged(trace, (999, 1_008)), LEAST)

    assert found.n_right == 1
    assert (found.n_sender_named, found.n_sender_right, found.sender) == (1, 0, 0.0)


def test_a_preempting_thread_is_known_by_its_id():
    trace = MadeTrace()
    for t, thread in ((1_000, INJECTOR), (5_000, HOG), (9_000, INJECTOR)):
        trace.switch(t * US, POLLER, thread, PREEMPTED).switch((t + 100) * US, thread, POLLER)
    gaps = judged(trace, (999, 1_101), (4_999, 5_101), (8_999, 9_101))

    found = confuse(causes.PREEMPTION, acts(1_000, 9_000, length_us=99), gaps, LEAST)

    assert (found.n_right, found.n_said, found.n_others) == (2, 3, 1)
    assert found.sender is None


def test_acts_outside_the_traced_time_are_left_out():
    trace = flushes(1_000, 20_000)
    gaps = judged(trace, (999, 1_008), (19_999, 20_008))

    found = confuse(causes.TLB_SHOOTDOWN, acts(1_000, 20_000), gaps, LEAST, (10 * MS, 30 * MS))

    assert (found.n_acts, found.n_right, found.n_said) == (1, 1, 1)


def test_rounds_add_up():
    gaps = judged(flushes(1_000), (999, 1_008))
    one = confuse(causes.TLB_SHOOTDOWN, acts(1_000), gaps, LEAST)
    other = confuse(causes.TLB_SHOOTDOWN, acts(1_000, 1_900), gaps, LEAST)

    both = merge(one, other)

    assert (both.n_acts, both.n_right, both.n_unfelt, both.n_said) == (3, 2, 1, 2)
    assert both.recall == 1.0


def test_nothing_sent_and_nothing_said_have_no_share():
    gaps = judged(MadeTrace().vector(1, 2, cpu=OTHER_CORE))

    found = confuse(causes.SOFTIRQ, acts(), gaps, LEAST)

    assert (found.recall, found.found, found.precision) == (None, None, None)


def test_the_document_is_json():
    trace = MadeTrace().vector(1_000 * US, 1_008 * US)
    found = confuse(causes.SOFTIRQ, acts(1_001), judged(trace, (999, 1_009)), LEAST)

    row = json.loads(json.dumps(plain(as_document(found, 3.0))))

    assert (row["felt"], row["missed"], row["recall"], row["control"]) == (1, 1, 0.0, 3.0)
    assert row["misses"][0]["shares"]["timer"] == 8 * US
