"""A device that logs its gaps and sleeps until packets come: what held it up when it was woken."""

from pathlib import Path

import pytest

from made_trace import (
    CORE,
    HOG,
    OTHER_CORE,
    POLLER,
    PREEMPTED,
    SLEEPS,
    STOPPED,
    TRACE_JSON,
    MadeTrace,
    held,
    normal,
    write_trial,
)
from taut.explain import Explanation, Options, explain_trial

MS, US = 1_000_000, 1_000
AT = 10 * MS
"""From here on for a millisecond it does not go to sleep and wake up as it does otherwise."""
DUT = {
    "driver": "taut_forward",
    "link": "virtio",
    "options": {"wait": "interrupt"},
    "threads": [POLLER],
    "stats": {"gaps": {"per_packet_ns": 250}},
}


WAKE, WAKE_CSD = 0xFF20, 0xC5E
FUNCTIONS = TRACE_JSON["functions"] | {str(WAKE): "sched_ttwu_pending"}


def sleeper() -> MadeTrace:
    """It sleeps for 50 us in each 100, and once for as long as the test says."""
    trace = MadeTrace()
    for t in range(0, 30 * MS, 100 * US):
        if AT <= t < AT + MS:
            continue
        trace.add(t + 40 * US, "syscall_entry", 7).switch(t + 50 * US, POLLER, 0, SLEEPS)
        woken(trace, t + 99 * US)
        trace.switch(t + 100 * US, 0, POLLER).add(t + 101 * US, "syscall_exit", 7, 0)
    return trace


def woken(trace: MadeTrace, at: int) -> None:
    trace.add(at, "wakeup", POLLER, CORE, thread=300, cpu=OTHER_CORE)


def explain(
    folder: Path, trace: MadeTrace | None, start: int, *gaps: tuple[int, int]
) -> Explanation:
    rows = held(normal(3_000), start, AT + MS)
    log = [(*gap, "forwarder") for gap in gaps]
    trial = write_trial(folder, rows, log, trace, {"dut": DUT}, functions=FUNCTIONS)
    return explain_trial(trial, Options(over="60us"))


def told_to_wake(trace: MadeTrace, told: int, left_idle: int) -> None:
    """Another core queues the wake-up; the idle core notes it itself, when it has left idle."""
    trace.add(told, "call_queue", WAKE_CSD, WAKE, thread=300, cpu=OTHER_CORE)
    trace.add(left_idle, "vector_entry", 0xFB, 0xFB, thread=0)
    trace.add(left_idle + 100, "call_entry", WAKE_CSD, WAKE, thread=0)
    trace.add(left_idle + 200, "wakeup", POLLER, CORE, thread=0)
    trace.add(left_idle + 300, "call_exit", WAKE_CSD, WAKE, thread=0)
    trace.add(left_idle + 400, "vector_exit", 0xFB, 0xFB, thread=0)


@pytest.mark.parametrize("is_hogged", [False, True], ids=["idle", "hogged"])
def test_it_waits_from_when_its_core_was_told_to_wake_it(tmp_path: Path, is_hogged: bool) -> None:
    trace = sleeper().switch(AT + 10 * US, POLLER, 0, SLEEPS)
    told_to_wake(trace, AT + 50 * US, AT + MS - 5 * US)
    if is_hogged:
        # The core had left idle, but for another.
        trace.add(AT + 55 * US, "wakeup", HOG, CORE, thread=300, cpu=OTHER_CORE)
        trace.switch(AT + 60 * US, 0, HOG).switch(AT + MS - 10 * US, HOG, 0, SLEEPS)
    trace.switch(AT + MS, 0, POLLER)

    found = explain(tmp_path, trace, AT + 50 * US)

    assert {total.cause for total in found.causes} == {"preemption" if is_hogged else "idle-exit"}
    assert found.worst[0].gap.start_ns == AT + 50 * US


@pytest.mark.parametrize("hole", ["skipped", "lost"])
def test_behind_events_that_are_missing_it_sleeps_until_it_is_woken(
    tmp_path: Path, hole: str
) -> None:
    trace = sleeper()
    trace.rows = [row for row in trace.rows if not AT - 5 * MS <= row[0] <= AT + US]
    trace.add(AT - 5 * MS, hole, 9, AT + US)
    trace.vector(AT + 100 * US, AT + 101 * US, thread=0)
    woken(trace, AT + MS - 100 * US)
    trace.switch(AT + MS, 0, POLLER)

    found = explain(tmp_path, trace, AT + MS - 100 * US)

    assert {total.cause for total in found.causes} == {"idle-exit"}
    assert found.worst[0].gap.start_ns == AT + MS - 100 * US


@pytest.mark.parametrize(
    ("priority", "cause"), [(120, "preemption"), (49, "fifo-preemption")], ids=["fair", "fifo"]
)
@pytest.mark.parametrize("is_noted", [True, False], ids=["noted", "not noted"])
def test_who_has_its_core_when_it_is_woken_is_told(
    tmp_path: Path, priority: int, cause: str, is_noted: bool
) -> None:
    """Some guests record no switch that the idle task makes: who has the core notes events."""
    trace = sleeper().switch(AT - 30 * US, POLLER, HOG, PREEMPTED, priority=priority)
    trace.switch(AT - 25 * US, HOG, POLLER, SLEEPS)
    trace.switch(AT + 10 * US, POLLER, 0, SLEEPS)
    trace.add(AT + 15 * US, "wakeup", HOG, CORE, thread=300, cpu=OTHER_CORE)
    if is_noted:
        trace.switch(AT + 20 * US, 0, HOG, priority=priority)
    woken(trace, AT + 50 * US)
    trace.switch(AT + MS, HOG, POLLER, PREEMPTED)

    found = explain(tmp_path, trace, AT + 50 * US)

    assert {total.cause for total in found.causes} == {cause}
    story = found.worst[0]
    assert (story.gap.start_ns, story.gap.end_ns) == (AT + 50 * US, AT + MS)
    assert (story.gap.core, story.gap.detail) == (CORE, f'"hog"/{HOG}')


def test_a_stop_in_its_sleep_is_told(tmp_path: Path) -> None:
    trace = sleeper().switch(AT + 10 * US, POLLER, 0, SLEEPS)
    woken(trace, AT + 50 * US)
    # The signal wakes it, and it stops on its way out of the kernel.
    trace.switch(AT + 55 * US, 0, POLLER).switch(AT + 60 * US, POLLER, 0, STOPPED)
    woken(trace, AT + MS - 5 * US)
    trace.switch(AT + MS, 0, POLLER)

    found = explain(tmp_path, trace, AT + 50 * US)

    assert {total.cause for total in found.causes} == {"stopped"}


def test_what_its_log_has_is_told_once(tmp_path: Path) -> None:
    trace = sleeper().switch(AT + 20 * US, POLLER, HOG, PREEMPTED)
    trace.switch(AT + MS - US, HOG, POLLER, PREEMPTED)

    found = explain(tmp_path, trace, AT + 19 * US, (AT + 19 * US, AT + MS))

    [story] = found.worst
    assert (story.cause, story.gap.thread) == ("preemption", "forwarder")
    assert [total.n for total in found.gap_totals if total.cause == "preemption"] == [1]
    by_core = [one for one in found.offenders if one.cause == "preemption"]
    assert [(one.role, one.n_stalls, one.n_packets) for one in by_core] == [
        ("device", 1, found.n_tail)
    ]


def test_without_events_nobody_knows_how_long_it_took_to_wake(tmp_path: Path) -> None:
    found = explain(tmp_path, None, AT + 50 * US)

    assert {total.cause for total in found.causes} == {"unknown"}
    assert "how long the device took to wake" in found.worst[0].missing[0]
