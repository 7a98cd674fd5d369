"""Which threads of a device work on its core, and what of their time off it is a stall."""

import pytest

from made_trace import (
    CORE,
    HOG,
    KWORKER,
    OTHER_CORE,
    POLLER,
    PREEMPTED,
    SLEEPS,
    MadeTrace,
    held,
    normal,
    write_trial,
)
from taut.explain import Options, explain_trial
from taut.explain.walk.pollers import Workers, find_workers, works_in_calls

MS, US = 1_000_000, 1_000
SECOND, MAIN, GONE = 101, 102, 0x20
DUT = {"driver": "testpmd", "link": "memif", "options": {}, "stats": None}


def taking_turns(until=33 * MS, slice_ns=4 * MS):
    """Two polling threads that share a core."""
    trace, running, other = MadeTrace(), POLLER, SECOND
    for t in range(slice_ns, until, slice_ns):
        trace.switch(t, running, other)
        running, other = other, running
    return trace


def causes(tmp_path, rows, trace, threads, over="20us"):
    meta = {"dut": DUT | {"threads": threads}}
    found = explain_trial(write_trial(tmp_path, rows, [], trace, meta), Options(over=over))
    return {c.cause for c in found.causes}, found


def test_a_thread_that_polls_is_told_from_one_that_sleeps_and_from_another_program():
    trace = MadeTrace().vector(0, US).switch(10 * MS, POLLER, MAIN).switch(11 * MS, MAIN, POLLER, 1)
    trace.switch(20 * MS, POLLER, HOG).switch(25 * MS, HOG, POLLER).vector(30 * MS, 30 * MS + US)

    assert find_workers(trace.events(), CORE, {POLLER, MAIN}) == Workers((POLLER,), sleep=False)
    assert find_workers(trace.events(), CORE, {MAIN}) == Workers((MAIN,), sleep=True)
    assert find_workers(trace.events(), CORE, {7}) is None
    assert find_workers(trace.events(), CORE + 6, {POLLER}) is None


def test_a_sleep_whose_switch_back_is_missing_ends_with_the_next_event_of_its_thread():
    trace = MadeTrace().vector(0, US).switch(10 * MS, POLLER, 0, SLEEPS)
    trace.vector(11 * MS, 11 * MS + US)
    trace.switch(30 * MS, POLLER, HOG, PREEMPTED).switch(30 * MS + US, HOG, POLLER)

    assert find_workers(trace.events(), CORE, {POLLER}) == Workers((POLLER,), sleep=False)


def calling(busy_ns, n=20, cpu=CORE):
    """It is in a system call for so much of each of some milliseconds."""
    trace = MadeTrace().vector(0, 100)
    for t in range(MS, n * MS, MS):
        trace.add(t, "syscall_entry", 16, cpu=cpu).add(t + busy_ns, "syscall_exit", 16, cpu=cpu)
    return trace.vector(n * MS, n * MS + 100)


def test_a_thread_works_in_system_calls_if_it_is_in_many_for_most_of_the_time():
    assert works_in_calls(calling(600 * US).events(), CORE, POLLER)
    assert not works_in_calls(calling(400 * US).events(), CORE, POLLER)
    assert not works_in_calls(calling(900 * US, n=10).events(), CORE, POLLER)


def test_a_system_call_whose_exit_never_comes_is_not_counted():
    trace = calling(100 * US).add(21 * MS, "syscall_entry", 16).vector(200 * MS, 200 * MS + 100)

    assert not works_in_calls(trace.events(), CORE, POLLER)


def test_a_system_call_in_which_events_were_lost_is_not_counted():
    trace = calling(100 * US).add(21 * MS, "syscall_entry", 16)
    trace.add(50 * MS, "lost", 10, 60 * MS).add(200 * MS, "syscall_exit", 16)

    assert not works_in_calls(trace.events(), CORE, POLLER)


def test_system_calls_on_another_core_are_not_those_of_this_one():
    elsewhere = MadeTrace().add(MS, "syscall_entry", 16, cpu=OTHER_CORE)
    elsewhere.add(2 * MS, "syscall_exit", 16, cpu=OTHER_CORE)

    assert not works_in_calls(elsewhere.events(), CORE, POLLER)
    assert not works_in_calls(calling(900 * US, cpu=OTHER_CORE).events(), CORE, POLLER)


def test_of_threads_that_take_turns_the_one_that_forwards_is_watched(tmp_path):
    rows = normal(3_000)
    for start in range(4 * MS, 30 * MS, 8 * MS):
        rows = held(rows, start, start + 4 * MS)

    told, found = causes(tmp_path, rows, taking_turns(), [POLLER, SECOND])

    assert told == {"preemption"}
    assert found.worst[0].gap.detail == f"thread {SECOND}"


def test_where_all_of_them_forward_the_device_works_while_one_of_them_runs(tmp_path):
    trace = taking_turns()
    trace.switch(13 * MS, SECOND, HOG, PREEMPTED).switch(14 * MS, HOG, SECOND)
    rows = held(normal(3_000), 13 * MS, 14 * MS)

    told, found = causes(tmp_path, rows, trace, [POLLER, SECOND])

    assert told == {"preemption"}
    assert (found.worst[0].gap.start_ns, found.worst[0].gap.end_ns) == (13 * MS, 14 * MS)


def test_a_thread_that_came_later_is_one_of_the_device(tmp_path):
    # The first one ends, the second, which was not there when the trace began, goes on.
    trace = MadeTrace().vector(0, US).switch(10 * MS, POLLER, SECOND, GONE)
    trace.switch(20 * MS, SECOND, HOG, PREEMPTED).switch(21 * MS, HOG, SECOND).vector(
        30 * MS, 30 * MS + US, thread=SECOND
    )
    rows = held(normal(3_000), 20 * MS, 21 * MS)

    told, found = causes(tmp_path, rows, trace, [POLLER, SECOND])

    assert told == {"preemption"}
    assert (found.worst[0].gap.start_ns, found.worst[0].gap.end_ns) == (20 * MS, 21 * MS)


@pytest.mark.parametrize("n_waiting", [0, 1])
def test_who_waits_for_packets_asleep_is_held_up_only_once_it_is_woken(tmp_path, n_waiting):
    # It sleeps for 50 us in each 100; at 10 ms a hog has its core for a millisecond.
    trace = MadeTrace()
    for t in range(0, 30 * MS, 100 * US):
        if 10 * MS <= t < 11 * MS:
            continue
        trace.add(t + 40 * US, "syscall_entry", 7).switch(t + 50 * US, POLLER, 0, SLEEPS)
        if n_waiting:
            trace.add(t + 99 * US, "wakeup", POLLER, CORE, thread=0)
        trace.switch(t + 100 * US, 0, POLLER).add(t + 101 * US, "syscall_exit", 7, 0)
    trace.switch(10 * MS + 5 * US, POLLER, HOG, PREEMPTED).switch(11 * MS - 500, HOG, POLLER)
    rows = held(normal(3_000), 10 * MS + 5 * US, 11 * MS)

    told, found = causes(tmp_path, rows, trace, [POLLER], over="60us")

    assert told == {"preemption"}
    assert {gap.cause for gap in found.gap_totals} <= {"preemption", "idle-exit"}


def test_threads_in_whose_stalls_packets_come_out_are_not_the_device(tmp_path):
    # The named one runs now and then; who forwards is not among them.
    trace = MadeTrace()
    for t in range(MS, 30 * MS, 5 * MS):
        trace.switch(t, HOG, POLLER).switch(t + MS, POLLER, HOG, PREEMPTED)
    rows = held(normal(3_000), 13 * MS, 14 * MS)

    told, found = causes(tmp_path, rows, trace, [POLLER])

    assert told == {"unknown"}
    assert found.vetoed.device_stalls > 3
    assert any("none is told" in note for note in found.notes)


def losing_a_switch(trace):
    """A work item of 20 us whose end is not noted: the next event is a tick 4 ms later."""
    return trace.switch(MS, POLLER, KWORKER).vector(5 * MS, 5 * MS + US)


def test_one_switch_that_was_not_recorded_does_not_refute_all_other_stalls(tmp_path):
    trace, rows = losing_a_switch(MadeTrace()), held(normal(3_000), MS, MS + 20 * US)
    stalls = [(t, t + 20 * US) for t in range(6 * MS, 16 * MS, MS)]
    for start, end in [*stalls, (20 * MS, 21 * MS + 500 * US)]:
        trace.switch(start, POLLER, HOG, PREEMPTED).switch(end, HOG, POLLER)
        rows = held(rows, start, end)

    told, found = causes(tmp_path, rows, trace, [POLLER])

    assert told == {"preemption", "workqueue"}
    assert (found.worst[0].gap.start_ns, found.worst[0].gap.end_ns) == (20 * MS, 21_500 * US)
    assert found.vetoed.device_stalls == 1


def test_who_forwards_is_told_though_one_of_its_switches_was_not_recorded(tmp_path):
    trace = losing_a_switch(MadeTrace())
    rows = held(normal(3_000), MS, MS + 20 * US)
    for t in range(6 * MS, 26 * MS, 4 * MS):
        trace.switch(t, POLLER, SECOND).switch(t + MS, SECOND, POLLER)
        rows = held(rows, t, t + MS)

    told, found = causes(tmp_path, rows, trace.vector(29 * MS, 29 * MS + US), [POLLER, SECOND])

    assert told == {"preemption", "workqueue"}
    assert found.worst[0].gap.detail == f"thread {SECOND}"


def test_a_thread_that_is_seen_to_come_out_of_idle_without_a_switch_is_refuted_all_the_same(
    tmp_path,
):
    """Some guests record no switch that leaves idle: that none is there is nothing special."""
    trace = MadeTrace()
    for t in range(MS, 30 * MS, 5 * MS):
        trace.vector(t, t + US).switch(t + MS, POLLER, 0)

    told, found = causes(tmp_path, held(normal(3_000), 13 * MS, 14 * MS), trace, [POLLER])

    assert told == {"unknown"}
    assert any("none is told" in note for note in found.notes)
