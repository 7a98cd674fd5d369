"""Why a thread is off its core: what is left of throttling where another takes the core."""

import signal
import subprocess

import pytest

from made_trace import (
    CORE,
    HOG,
    OTHER_CORE,
    POLLER,
    PREEMPTED,
    RUNNABLE,
    SLEEPS,
    STOPPED,
    MadeTrace,
    gap_rows,
    notes,
)
from taut.explain import explain_events, explain_gaps
from taut.explain.walk.running import state_of
from taut.host.host import Host
from waiting import wait_for

US = 1_000


@pytest.mark.parametrize(("signal_sent", "state"), [(signal.SIGSTOP, STOPPED), (None, SLEEPS)])
def test_a_state_of_proc_is_one_of_sched_switch(signal_sent, state):
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            if signal_sent is not None:
                child.send_signal(signal_sent)

            status = f"/proc/{child.pid}/status"
            wait_for(
                f"state {state:#x}",
                lambda: state_of(Host().fields(status).get("State", "")) == state,
            )
        finally:
            child.kill()
    assert state_of(Host().fields("/proc/self/status")["State"]) == RUNNABLE
    assert state_of("") == RUNNABLE


def verdict(trace: MadeTrace, throttled_us: int, **trace_json: object) -> tuple[str, str]:
    """Of a gap of a millisecond, when the poller's group was throttled so long."""

    gaps = gap_rows((0, 1_000 * US, "noise"))
    made = notes(**throttled_for(throttled_us), **trace_json)
    found = explain_gaps(gaps, trace.events(), CORE, made)
    [row] = found.gaps.select(["cause", "grade"]).to_pylist()
    return row["cause"], row["grade"]


def throttled_for(us: int) -> dict[str, object]:
    """The counters of the poller's control group before the trace and after it."""

    def counters(n: int) -> dict[str, object]:
        return {
            "threads": {str(POLLER): {"cgroups": {"/made": {"nr_throttled": 0, "throttled_us": n}}}}
        }

    return {"counters": {"before": counters(3), "after": counters(3 + us)}}


def off(state: int) -> MadeTrace:
    return MadeTrace().switch(10 * US, POLLER, HOG, state).switch(990 * US, HOG, POLLER)


def test_preempted_within_the_kernel_and_in_no_call_it_is_throttled_whoever_runs():
    assert verdict(off(PREEMPTED), throttled_us=980) == ("throttled", "A")


@pytest.mark.parametrize(
    ("throttled_us", "grade"), [(7, "D"), (900, "A"), (1_060, "A"), (1_900, "B")]
)
def test_how_long_its_group_was_throttled_says_how_sure_that_is(throttled_us: int, grade: str):
    # Longer: other threads of the group were throttled, too. Shorter: it was not only that.
    assert verdict(off(PREEMPTED), throttled_us) == ("throttled", grade)


@pytest.mark.parametrize(("state", "n"), [(PREEMPTED, 0), (RUNNABLE, 7)])
def test_without_throttling_of_its_group_or_at_the_way_back_it_is_preempted(state: int, n: int):
    assert verdict(off(state), n)[0] == "preemption"


@pytest.mark.parametrize(("throttled_us", "cause"), [(0, "idle-exit"), (970, "unknown")])
def test_woken_with_its_core_idle_it_wakes_slowly_unless_its_quota_may_be_used_up(
    throttled_us: int, cause: str
):
    trace = MadeTrace().switch(10 * US, POLLER, 0, SLEEPS)
    trace.add(20 * US, "wakeup", POLLER, CORE, thread=HOG, cpu=OTHER_CORE)

    assert verdict(trace.switch(990 * US, 0, POLLER), throttled_us)[0] == cause


def test_preempted_in_a_system_call_it_is_preempted():
    trace = MadeTrace().add(5 * US, "syscall_entry", 0).switch(10 * US, POLLER, HOG, PREEMPTED)
    trace.switch(980 * US, HOG, POLLER).add(990 * US, "syscall_exit", 0)

    assert verdict(trace, throttled_us=7)[0] == "preemption"


def test_where_its_system_calls_are_not_recorded_it_may_be_in_one():
    missing = [{"event": "raw_syscalls/sys_enter", "costs": "", "why": "it was not asked for"}]

    assert verdict(off(PREEMPTED), throttled_us=980, missing=missing)[0] == "preemption"


@pytest.mark.parametrize("kernel", ["6.12.43+deb13-rt-amd64", "5.10.0-rc1", None, "linux"])
def test_a_kernel_before_6_18_preempts_on_the_way_out_of_a_call(kernel: str | None):
    """So does a newer one, where it also throttles."""
    trace = MadeTrace().add(5 * US, "syscall_entry", 0).add(9_900, "syscall_exit", 0)
    trace.switch(10 * US, POLLER, HOG, PREEMPTED).switch(990 * US, HOG, POLLER)

    assert verdict(trace, throttled_us=980, kernel=kernel)[0] == "preemption"
    assert verdict(trace, throttled_us=980, kernel="6.18.5") == ("throttled", "A")
    assert verdict(trace, throttled_us=980, kernel="7.0.0") == ("throttled", "A")


def preempted_after_a_fault(us: int) -> list[str]:
    """The verdicts where no log says when the fault was over."""
    trace = MadeTrace().add(1 * US, "page_fault", 0x1000)
    trace.switch((1 + us) * US, POLLER, HOG, PREEMPTED).switch(2_900 * US, HOG, POLLER)
    found = explain_events(trace.events(), CORE, POLLER, notes(**throttled_for(890)))
    return found.gaps["cause"].to_pylist()


def test_a_page_fault_long_ago_is_over_where_no_log_says_when():
    assert preempted_after_a_fault(1_100) == ["page-fault", "throttled"]


def test_after_a_page_fault_it_may_be_in_it_still():
    """To clear a huge page takes a tenth of a millisecond."""
    assert preempted_after_a_fault(60) == ["page-fault", "preemption"]
