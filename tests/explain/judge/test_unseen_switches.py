"""Guests whose idle task records nothing outside interrupts: who had the core is told anyway."""

import pytest

from made_bridge import (
    CALL_SINGLE,
    DELIVERY,
    GENERATOR,
    NAPI_THREAD,
    THREADS,
    US,
    Bridge,
    detail,
    explained,
    verdict,
)
from made_trace import CORE, HOG, OTHER_CORE, POLLER, SLEEPS, TRACE_JSON, MadeTrace, notes
from taut.explain.read.names import Names
from taut.explain.walk.layers import layers_of, with_unseen_switches

WAKE, WAKE_CSD = 0xFF20, 0xC5E
FUNCTIONS = TRACE_JSON["functions"] | {
    str(DELIVERY): "rps_trigger_softirq",
    str(WAKE): "sched_ttwu_pending",
}


def queue(trace, t):
    """The sender's core has the other one wake the NAPI thread."""
    trace.add(t, "call_queue", WAKE_CSD, WAKE, thread=GENERATOR, cpu=OTHER_CORE)


def wake(trace, t):
    """The interrupt in which the idle core does so, 400 ns."""
    trace.add(t, "vector_entry", CALL_SINGLE, 0xFB, thread=0)
    trace.add(t + 100, "call_entry", WAKE_CSD, WAKE, thread=0)
    trace.add(t + 200, "wakeup", NAPI_THREAD, CORE, thread=0)
    trace.add(t + 300, "call_exit", WAKE_CSD, WAKE, thread=0)
    trace.add(t + 400, "vector_exit", CALL_SINGLE, 0xFB, thread=0)


def hogged(trace, t):
    """A timer wakes the hog on the idle core, which has it for a while; then the NAPI thread."""
    trace.add(t + 100, "wakeup", HOG, CORE, thread=0)
    trace.vector(t, t + 200, thread=0)
    trace.switch(t + 58 * US, HOG, NAPI_THREAD, SLEEPS)
    trace.run(t + 59 * US, t + 64 * US, thread=NAPI_THREAD)
    trace.switch(t + 65 * US, NAPI_THREAD, 0, SLEEPS)


def woken(trace, t):
    queue(trace, t + US)
    wake(trace, t + 5 * US)
    hogged(trace, t + 6 * US)


def polled(trace, t):
    """As a core that polls while idle: the wake-up itself is not recorded; one before it was."""
    queue(trace, t - 60 * US)
    wake(trace, t - 56 * US)
    trace.run(t - 52 * US, t - 49 * US, 0, NAPI_THREAD)
    trace.switch(t - 48 * US, NAPI_THREAD, 0, SLEEPS)
    queue(trace, t + US)
    hogged(trace, t + 6 * US)


@pytest.mark.parametrize("hold", [woken, polled])
def test_who_let_a_napi_thread_wait_is_told_without_the_switch_to_it(tmp_path, hold):
    found = explained(tmp_path, hold, functions=FUNCTIONS)

    assert verdict(found) == ("ksoftirqd-wait", "B")
    assert detail(found) == '"hog"/200 ran'


def turns_of(trace):
    """From the first switch of the test on: before it a core that idles."""
    turns = layers_of(trace.events(), CORE, Names(notes(threads=THREADS, functions=FUNCTIONS)))
    return list(zip(turns.thread.start_ns.tolist(), turns.who.tolist(), strict=True))[3:]


def test_a_turn_begins_when_its_thread_was_ready_and_the_one_before_had_ended():
    trace = Bridge().switch(0, NAPI_THREAD, 0, SLEEPS)
    wake(trace, 4 * US)
    hogged(trace, 6 * US)

    assert turns_of(trace) == [(0, 0), (6_200, HOG), (64 * US, NAPI_THREAD), (71 * US, 0)]


def test_a_turn_of_which_no_wake_up_is_known_begins_with_its_first_event():
    trace = Bridge().switch(0, NAPI_THREAD, 0, SLEEPS)
    trace.run(30 * US, 34 * US, thread=NAPI_THREAD).switch(40 * US, NAPI_THREAD, 0, SLEEPS)

    assert turns_of(trace) == [(0, 0), (30 * US, NAPI_THREAD), (40 * US, 0)]


def test_where_switches_are_not_recorded_nobody_else_is_made_out():
    trace = MadeTrace().vector(0, US, thread=HOG).vector(5 * US, 6 * US, thread=0)

    assert len(layers_of(trace.events(), CORE, Names(notes())).thread) == 1


@pytest.mark.parametrize(("said", "priority"), [(49, 49), (0, 120)])
def test_the_priority_of_who_only_ever_ran_out_of_idle_is_that_of_its_wake_ups(said, priority):
    """0: a trace of before wake-ups told it."""
    trace = MadeTrace().switch(0, POLLER, 0, SLEEPS)
    trace.add(5 * US, "wakeup", HOG, CORE | said << 32, thread=0)
    trace.switch(58 * US, HOG, POLLER, SLEEPS)

    events = with_unseen_switches(trace.events(), CORE, [POLLER])

    to_hog = events.take(events.of("switch") & (events.arg0 == 0)).arg1
    assert to_hog.tolist() == [HOG | priority << 32]
