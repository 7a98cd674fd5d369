"""A kernel device whose core idles: whether it slept or polled, by its state of idle."""

import pytest

from made_bridge import DELIVERY, DELIVERY_CSD, GENERATOR, LATE, US, explained, verdict
from made_trace import CORE, OTHER_CORE
from taut.explain import Options, explain_trial

SENDING = ("ipi_send_for", CORE | 0xFF09 << 32, 0xFF01)
"""Sendings of interrupts are recorded."""


def woken_by_a_flag(trace, t, state):
    """As out of MWAIT: no interrupt is sent, and the idle task runs what was queued itself."""
    trace.add(t - 1_000 * US, *SENDING, thread=GENERATOR, cpu=OTHER_CORE)
    trace.add(t - 50 * US, "idle", state, thread=0).tell(t + US)
    trace.add(t + 65 * US, "idle", 0xFFFF_FFFF, thread=0)
    trace.add(t + 66 * US, "call_entry", DELIVERY_CSD, DELIVERY, thread=0)
    trace.add(t + 66 * US + 100, "call_exit", DELIVERY_CSD, DELIVERY, thread=0)
    trace.run(t + 67 * US, t + 70 * US)


def smi_moved(n):
    """The counters of a trial; n None: the counter could be read before it only."""
    smi = [{"smi": {str(CORE): count}} for count in (7, None if n is None else 7 + n)]
    return dict(zip(("before", "after"), smi, strict=True))


@pytest.mark.parametrize("is_guest", [False, True], ids=["bare metal", "guest"])
@pytest.mark.parametrize(("state", "cause"), [(3, "idle-exit"), (0, "hypervisor-or-hardware")])
def test_its_state_of_idle_says_whether_a_core_slept(tmp_path, state, cause, is_guest):
    def flagged(trace, t):
        woken_by_a_flag(trace, t, state)

    found = explained(tmp_path, flagged, counters=smi_moved(0))
    found = explain_trial(found.source.trial, Options(over="20us", is_guest=is_guest))

    is_seen = cause == "idle-exit" and not is_guest
    assert verdict(found) == (cause, "B" if is_seen else "C")


@pytest.mark.parametrize(("moved", "grade"), [(1, "C"), (None, "D")])
def test_a_long_wake_up_is_no_more_than_a_guess_where_firmware_may_have_had_the_core(
    tmp_path, moved, grade
):
    def flagged(trace, t):
        woken_by_a_flag(trace, t, 3)

    found = explained(tmp_path, flagged, counters=smi_moved(moved))
    found = explain_trial(found.source.trial, Options(over="20us", is_guest=False))

    assert verdict(found) == ("idle-exit", grade)
    is_missing = "the counter of system management interrupts" in found.worst[0].missing
    assert is_missing == (moved is None)


def test_a_core_that_did_something_since_it_went_idle_is_told_by_interrupts_again(tmp_path):
    def polls(trace, t):
        trace.vector(t - 20 * US, t - 19 * US, thread=0)
        woken_by_a_flag(trace, t, 1)

    assert verdict(explained(tmp_path, polls)) == ("hypervisor-or-hardware", "C")


def test_how_long_waking_usually_takes_is_learnt_without_interrupts_too(tmp_path):
    def out_of_mwait(trace, t):
        for at in range(t - LATE * 100 * US, t + LATE * 100 * US, 100 * US):
            trace.add(at - 3 * US, "idle", 3, thread=0)
        woken_by_a_flag(trace, t, 3)

    found = explained(tmp_path, out_of_mwait, over="7us")

    assert {total.cause for total in found.causes} == {"idle-exit"}
    assert found.causes[0].n_by_grade == {"B": found.n_tail - 1, "C": 1}
