"""Why a thread is off its core: what is left of throttling where another takes the core."""

import pytest

from made_trace import CORE, HOG, POLLER, PREEMPTED, RUNNABLE, MadeTrace, gap_rows, notes
from taut.analysis.explain import explain_gaps

US = 1_000


def verdict(trace: MadeTrace, throttled_us: int) -> tuple[str, str]:
    """Of a gap of a millisecond, when the poller's group was throttled so long."""

    def counters(n: int) -> dict[str, object]:
        return {
            "threads": {str(POLLER): {"cgroups": {"/made": {"nr_throttled": 0, "throttled_us": n}}}}
        }

    changes = {"counters": {"before": counters(3), "after": counters(3 + throttled_us)}}
    gaps = gap_rows((0, 1_000 * US, "noise"))
    found = explain_gaps(gaps, trace.events(), CORE, notes(**changes))
    [row] = found.gaps.select(["cause", "grade"]).to_pylist()
    return row["cause"], row["grade"]


def off(state: int) -> MadeTrace:
    return MadeTrace().switch(10 * US, POLLER, HOG, state).switch(990 * US, HOG, POLLER)


def test_preempted_within_the_kernel_and_in_no_call_it_is_throttled_whoever_runs():
    assert verdict(off(PREEMPTED), throttled_us=7) == ("throttled", "A")


@pytest.mark.parametrize(("state", "n"), [(PREEMPTED, 0), (RUNNABLE, 7)])
def test_without_throttling_of_its_group_or_at_the_way_back_it_is_preempted(state: int, n: int):
    assert verdict(off(state), n)[0] == "preemption"


def test_preempted_in_a_system_call_it_is_preempted():
    trace = MadeTrace().add(5 * US, "syscall_entry", 0).switch(10 * US, POLLER, HOG, PREEMPTED)
    trace.switch(980 * US, HOG, POLLER).add(990 * US, "syscall_exit", 0)

    assert verdict(trace, throttled_us=7)[0] == "preemption"
