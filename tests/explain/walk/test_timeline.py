import numpy as np
import pytest

from made_trace import (
    CALL_FUNCTION,
    CORE,
    FLUSH,
    HOG,
    IPI_MB,
    KWORKER,
    OTHER_CORE,
    POLLER,
    PREEMPTED,
    RESCHEDULE,
    SLEEPS,
    STOPPED,
    TELEMETRY,
    TICK,
    VMSTAT,
    MadeTrace,
    notes,
)
from taut.explain.causes import CAUSES
from taut.explain.read.names import Names
from taut.explain.read.senders import join_senders
from taut.explain.walk.contexts import Watched
from taut.explain.walk.pollers import find_thread
from taut.explain.walk.timeline import build_timeline
from taut.records.layout import SentBy

IDLE, SECOND, GONE = 0, 101, 0x20
WATCHED = Watched(CORE, POLLER)
BOTH_SLEEP = Watched(CORE, POLLER, also=frozenset({SECOND}), sleeps=True)


def walked(trace, start=0, end=100_000, watched=WATCHED, **trace_json):
    events = trace.events()
    spans = np.array([start]), np.array([end])
    senders = join_senders(events)
    return build_timeline(events, watched, spans, Names(notes(**trace_json)), senders)


def net(segments):
    total = {}
    for cause, ns in zip(segments.cause, segments.length_ns, strict=True):
        total[CAUSES[cause].id] = total.get(CAUSES[cause].id, 0) + int(ns)
    return total


def words(segments, cause):
    return {
        segments.details[d]
        for c, d in zip(segments.visit_cause, segments.visit_detail, strict=True)
        if CAUSES[c].id == cause
    }


def test_the_innermost_context_owns_the_time():
    trace = MadeTrace().add(1_000, "softirq_entry", 3).vector(2_000, 5_000)
    trace.add(9_000, "softirq_exit", 3)

    segments = walked(trace)

    assert net(segments) == {"softirq": 1_000 + 4_000, "timer": 3_000}
    assert words(segments, "softirq") == {"NET_RX"}


def test_a_shootdown_renames_its_interrupt_and_names_who_sent_it():
    trace = MadeTrace().call(2_000, 8_000, FLUSH, sent_at=1_500).add(5_000, "tlb_flush", 1, 8)

    segments = walked(trace)

    assert net(segments) == {"tlb-shootdown": 6_000}
    assert words(segments, "tlb-shootdown") == {'8 pages by "telemetry"/4711 on cpu0'}
    assert set(segments.visit_by) == {TELEMETRY}
    assert segments.visit_joined.all()


def test_what_a_thread_calls_on_its_own_core_is_its_own_time_and_has_no_sender():
    trace = MadeTrace().switch(1_000, POLLER, HOG, PREEMPTED).switch(9_000, HOG, POLLER)
    for at in (3_000, 9_300):
        thread = HOG if at < 9_000 else POLLER
        trace.add(at, "call_entry", 0, FLUSH, thread=thread)
        trace.add(at + 200, "call_exit", 0, FLUSH, thread=thread)

    assert net(walked(trace)) == {"preemption": 8_000}
    found = join_senders(trace.events())
    assert (found.n_calls, found.n_joined) == (0, 0)


def test_the_nearest_earlier_queueing_of_the_same_call_is_the_sender():
    trace = MadeTrace().call(2_000, 3_000, IPI_MB, sent_at=500, sender=1)
    trace.add(1_500, "call_queue", 0xC0DE, IPI_MB, thread=2, cpu=OTHER_CORE)
    trace.add(1_600, "call_queue", 0xBAD, IPI_MB, thread=3, cpu=OTHER_CORE)
    trace.add(2_500, "call_queue", 0xC0DE, IPI_MB, thread=4, cpu=OTHER_CORE)

    segments = walked(trace)

    assert net(segments) == {"membarrier": 1_000}
    assert set(segments.visit_by) == {2}


def test_an_old_kernel_knows_a_shootdown_by_the_flush_inside_the_interrupt():
    trace = MadeTrace().vector(2_000, 8_000, CALL_FUNCTION).add(5_000, "tlb_flush", 1, 8)

    segments = walked(trace)

    assert net(segments) == {"tlb-shootdown": 6_000}
    assert set(segments.visit_by) == {-1}
    assert not segments.visit_joined.any()


def test_a_flush_for_a_task_switch_is_no_shootdown():
    trace = MadeTrace().vector(2_000, 8_000, CALL_FUNCTION).add(5_000, "tlb_flush", 0, 8)

    assert net(walked(trace)) == {"function-call": 6_000}


def test_other_functions_keep_their_name():
    segments = walked(MadeTrace().call(2_000, 8_000, 0xABC, sent_at=1_900))

    assert net(segments) == {"function-call": 6_000}
    assert words(segments, "function-call") == {'0xabc by "telemetry"/4711 on cpu0'}


@pytest.mark.parametrize("by", SentBy)
def test_what_an_interrupt_sent_is_no_threads_doing(by):
    sender = by % (1 << 32)  # as the record has it
    call = MadeTrace().call(1_000, 9_000, 0xABC, sent_at=500, sender=sender)
    reschedule = MadeTrace().send(500, sender=sender).vector(1_000, 9_000, RESCHEDULE)

    found = [walked(trace) for trace in (call, reschedule)]

    who = f"by {'an interrupt' if by is SentBy.INTERRUPT else 'a softirq'} on cpu0"
    assert words(found[0], "function-call") == {f"0xabc {who}"}
    assert words(found[1], "reschedule") == {who}
    assert [one.visit_by.max() for one in found] == [-1, -1]


def test_a_timer_says_which_function_it_ran():
    trace = MadeTrace().vector(2_000, 5_000).add(2_500, "timer_entry", TICK, 1)

    assert words(walked(trace), "timer") == {"tick_nohz_handler"}


def test_a_reschedule_interrupt_names_its_sender():
    trace = MadeTrace().vector(2_000, 3_000, RESCHEDULE)
    trace.send(1_000, TELEMETRY).send(1_900, HOG, target=5)

    assert words(walked(trace), "reschedule") == {'by "telemetry"/4711 on cpu0'}


@pytest.mark.parametrize(
    ("lost", "is_named"),
    [({"cpu": 0, "n": 9, "of": "initiators"}, False), ({"cpu": 1, "n": 9, "of": "core"}, True)],
    ids=lambda value: value["of"] if isinstance(value, dict) else "",
)
def test_where_sendings_were_lost_any_may_have_raised_a_reschedule_interrupt(lost, is_named):
    trace = MadeTrace().vector(2_000, 3_000, RESCHEDULE).send(1_000, TELEMETRY)
    trace.call(5_000, 6_000, FLUSH, sent_at=4_500)

    segments = walked(trace, lost=[lost])

    assert words(segments, "reschedule") == {'by "telemetry"/4711 on cpu0' if is_named else ""}
    assert words(segments, "tlb-shootdown") == {'by "telemetry"/4711 on cpu0'}
    assert np.count_nonzero(segments.visit_joined) == is_named + 2


@pytest.mark.parametrize(
    ("priority", "cause"), [(120, "preemption"), (49, "fifo-preemption"), (-1, "fifo-preemption")]
)
def test_a_thread_that_runs_instead_is_named_by_its_class(priority, cause):
    trace = MadeTrace().switch(1_000, POLLER, HOG, PREEMPTED, priority).switch(6_000, HOG, POLLER)

    segments = walked(trace)

    assert net(segments) == {cause: 5_000}
    assert words(segments, cause) == {'"hog"/200'}


def test_chained_switches_are_named_by_who_ran_not_by_the_first():
    trace = MadeTrace().switch(1_000, POLLER, HOG).switch(2_000, HOG, KWORKER)
    trace.add(2_100, "work_entry", VMSTAT, 1, thread=KWORKER)
    trace.add(8_900, "work_exit", VMSTAT, 1, thread=KWORKER)
    trace.switch(9_000, KWORKER, POLLER)

    segments = walked(trace)

    assert net(segments) == {"preemption": 1_000, "workqueue": 7_000}
    assert words(segments, "workqueue") == {'vmstat_update in "kworker/1:0"/30'}


def with_work_in_a_softirq(trace, at, thread):
    trace.vector(at, at + 200, thread=thread).add(at + 300, "softirq_entry", 6, thread=thread)
    trace.add(at + 400, "work_entry", VMSTAT, 2, thread=thread)
    trace.add(at + 800, "work_exit", VMSTAT, 2, thread=thread)
    return trace.add(at + 900, "softirq_exit", 6, thread=thread)


def test_work_that_a_softirq_does_makes_no_worker_of_the_thread_that_it_interrupted():
    trace = MadeTrace().switch(1_000, POLLER, HOG)
    with_work_in_a_softirq(trace, 2_000, HOG).switch(9_000, HOG, POLLER)

    segments = walked(trace)

    assert net(segments) == {"preemption": 7_200, "timer": 200, "softirq": 600}
    assert words(segments, "preemption") == {'"hog"/200'}


def test_work_that_a_softirq_does_does_not_end_the_workers_own():
    trace = MadeTrace().switch(1_000, POLLER, KWORKER)
    trace.add(1_500, "work_entry", VMSTAT, 1, thread=KWORKER)
    with_work_in_a_softirq(trace, 2_000, KWORKER)
    trace.add(8_000, "work_exit", VMSTAT, 1, thread=KWORKER).switch(9_000, KWORKER, POLLER)

    assert net(walked(trace)) == {"workqueue": 7_200, "timer": 200, "softirq": 600}


def test_stopped_until_woken_then_whoever_runs():
    trace = MadeTrace().switch(1_000, POLLER, IDLE, STOPPED)
    trace.switch(2_000, IDLE, HOG).switch(3_000, HOG, IDLE)
    trace.add(50_000, "wakeup", POLLER, CORE, thread=HOG, cpu=OTHER_CORE)
    trace.switch(51_000, IDLE, POLLER)

    assert net(walked(trace)) == {"stopped": 49_000, "idle-exit": 1_000}


THROTTLED = {
    "counters": {
        when: {"threads": {str(POLLER): {"cgroups": {"/made": {"throttled_us": n}}}}}
        for when, n in (("before", 1), ("after", 90))
    }
}


@pytest.mark.parametrize(
    ("trace_json", "expected"),
    [(THROTTLED, {"throttled": 89_000}), ({}, {"unknown": 88_000, "workqueue": 1_000})],
)
def test_fit_to_run_while_the_core_idles_is_throttled_if_a_quota_was_used_up(trace_json, expected):
    trace = MadeTrace().switch(1_000, POLLER, HOG).switch(2_000, HOG, IDLE)
    trace.switch(90_000, IDLE, KWORKER).switch(91_000, KWORKER, POLLER)

    assert net(walked(trace, **trace_json)) == {"preemption": 1_000} | expected


@pytest.mark.parametrize(("state", "expected"), [(PREEMPTED, 7_000), (SLEEPS, 0)])
def test_who_lost_the_core_to_another_of_the_device_still_waits_when_that_sleeps(state, expected):
    trace = MadeTrace().switch(1_000, POLLER, SECOND, state).switch(2_000, SECOND, HOG, SLEEPS)
    trace.switch(9_000, HOG, POLLER)

    assert net(walked(trace, watched=BOTH_SLEEP)).get("preemption", 0) == expected


def test_with_an_idle_core_no_thread_of_the_device_waits_any_longer():
    trace = MadeTrace().switch(1_000, POLLER, SECOND, PREEMPTED).switch(2_000, SECOND, IDLE, SLEEPS)
    trace.switch(3_000, IDLE, HOG).switch(9_000, HOG, SECOND)

    assert net(walked(trace, watched=BOTH_SLEEP)) == {}


@pytest.mark.parametrize(("core", "expected"), [(CORE, {"preemption": 7_000}), (OTHER_CORE, {})])
def test_a_thread_of_the_device_waits_where_it_was_woken_to_run(core, expected):
    trace = MadeTrace().add(1_000, "wakeup", SECOND, core).switch(2_000, POLLER, HOG, SLEEPS)
    trace.switch(9_000, HOG, SECOND)

    assert net(walked(trace, watched=BOTH_SLEEP)) == expected


def test_when_one_of_several_threads_has_ended_the_others_are_asleep_until_woken():
    trace = MadeTrace().switch(1_000, POLLER, IDLE, SLEEPS).switch(2_000, IDLE, SECOND)
    trace.switch(3_000, SECOND, IDLE, GONE)
    trace.add(8_000, "wakeup", POLLER, CORE, thread=HOG, cpu=OTHER_CORE)
    trace.switch(9_000, IDLE, POLLER)

    assert net(walked(trace, watched=BOTH_SLEEP)) == {"idle-exit": 1_000}


def test_a_sleep_of_which_no_system_call_was_recorded_is_none():
    trace = MadeTrace().switch(1_000, POLLER, IDLE, SLEEPS).switch(9_000, IDLE, POLLER)

    assert net(walked(trace)) == {"unknown": 8_000}


def test_sleeping_in_its_own_call_is_its_own_call():
    trace = MadeTrace().add(1_000, "syscall_entry", 35).switch(1_200, POLLER, IDLE, SLEEPS)
    trace.add(9_000, "wakeup", POLLER, CORE, thread=IDLE)
    trace.switch(9_500, IDLE, POLLER).add(10_000, "syscall_exit", 35, 0)

    assert net(walked(trace)) == {"syscall": 200 + 7_800 + 500, "idle-exit": 500}


def test_what_another_watched_thread_asks_of_the_kernel_is_part_of_its_turn():
    trace = MadeTrace().switch(1_000, POLLER, HOG)
    trace.add(2_000, "syscall_entry", 35, thread=HOG).add(3_000, "page_fault", 1, 1, thread=HOG)
    trace.add(4_000, "syscall_exit", 35, 0, thread=HOG).switch(9_000, HOG, POLLER)

    assert net(walked(trace)) == {"preemption": 8_000}


def test_a_page_fault_lasts_to_the_end_of_its_gap_less_what_interrupts_it():
    trace = MadeTrace().add(1_000, "page_fault", 0x1000, 1).vector(2_000, 3_000)

    assert net(walked(trace, end=5_000)) == {"page-fault": 3_000, "timer": 1_000}


def test_a_non_maskable_interrupt_is_carved_out_from_its_end():
    trace = MadeTrace().vector(1_000, 9_000).add(5_000, "nmi", 1, 2_000)

    assert net(walked(trace)) == {"timer": 6_000, "nmi": 2_000}


@pytest.mark.parametrize(("second", "n", "ns"), [(5_600, 1, 2_600), (9_000, 2, 2_400)])
def test_handlers_of_one_non_maskable_interrupt_are_one(second, n, ns):
    trace = MadeTrace().add(5_000, "nmi", 1, 2_000).add(second, "nmi", 2, 400)

    segments = walked(trace)

    assert net(segments) == {"nmi": ns}
    assert np.count_nonzero(segments.visit_class) == n


def test_a_wake_up_from_elsewhere_takes_nothing_of_an_interrupt_it_comes_in():
    trace = MadeTrace().add(4_000, "wakeup", POLLER, CORE, thread=HOG, cpu=OTHER_CORE)
    trace.add(5_000, "nmi", 1, 2_000)

    assert net(walked(trace)) == {"nmi": 2_000}


def test_of_one_that_sleeps_in_a_system_call_the_sleep_is_no_part_of_it():
    trace = MadeTrace().add(1_000, "syscall_entry", 45).switch(2_000, POLLER, IDLE, SLEEPS)
    trace.add(8_000, "wakeup", POLLER, CORE, thread=IDLE).switch(9_000, IDLE, POLLER)
    trace.add(9_500, "syscall_exit", 45)

    segments = walked(trace, watched=Watched(CORE, POLLER, sleeps=True))

    assert net(segments) == {"syscall": 1_500, "idle-exit": 1_000}


def test_a_missing_exit_ends_with_the_next_of_its_kind_or_the_gap():
    trace = MadeTrace().add(1_000, "vector_entry", 0).vector(5_000, 6_000, RESCHEDULE)
    trace.add(7_000, "irq_entry", 24)

    segments = walked(trace, end=8_000)

    assert net(segments) == {"timer": 4_000, "reschedule": 1_000, "device-irq": 1_000}
    assert words(segments, "device-irq") == {"irq 24 virtio0-input.0"}


def test_an_exit_without_its_entry_means_nothing():
    trace = MadeTrace().add(1_000, "vector_exit", 0).add(2_000, "softirq_exit", 1)

    assert net(walked(trace)) == {}


def test_a_lost_switch_is_made_good_by_the_next_event():
    trace = MadeTrace().vector(2_000, 3_000, thread=HOG).vector(9_000, 9_500, thread=POLLER)

    assert net(walked(trace)) == {"timer": 1_500, "preemption": 6_000}


def test_a_flush_of_the_switch_itself_is_noted_by_the_thread_that_leaves():
    trace = MadeTrace().switch(1_000, POLLER, HOG, STOPPED).add(1_100, "tlb_flush", 0, 8)
    trace.vector(2_000, 3_000, thread=HOG).switch(9_000, HOG, POLLER)

    assert net(walked(trace)) == {"stopped": 7_000, "timer": 1_000}


def test_a_hole_in_the_record_ends_what_was_open():
    trace = MadeTrace().add(1_000, "vector_entry", 0).add(2_000, "lost", 10, 3_000)

    assert net(walked(trace)) == {"timer": 1_000}


def test_events_outside_spans_and_of_other_cores_are_not_looked_at():
    trace = MadeTrace().vector(1_000, 2_000).vector(4_000, 5_000, cpu=OTHER_CORE)

    assert net(walked(trace, start=3_000, end=9_000)) == {}


def test_softirqs_after_an_interrupt_share_its_entry():
    trace = MadeTrace().vector(1_000, 2_000).add(2_100, "softirq_entry", 1)
    trace.add(3_000, "softirq_exit", 1)

    segments = walked(trace)

    assert np.count_nonzero(segments.visit_class) == 1


def test_the_polling_thread_is_who_runs_where_gaps_begin():
    trace = MadeTrace()
    for t in range(0, 100_000, 10_000):
        trace.switch(t + 100, POLLER, HOG).vector(t + 200, t + 300, thread=HOG)
        trace.switch(t + 900, HOG, POLLER)
    starts = np.arange(0, 100_000, 10_000)

    assert find_thread(trace.events(), CORE, starts, starts + 1_000) == POLLER
    assert find_thread(trace.events(), 7, starts, starts + 1_000) is None
