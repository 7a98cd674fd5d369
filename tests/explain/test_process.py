import pytest

from made_trace import (
    CORE,
    FLUSH,
    HOG,
    OTHER_CORE,
    POLLER,
    PREEMPTED,
    RUNNABLE,
    SLEEPS,
    STOPPED,
    TELEMETRY,
    MadeTrace,
    gap_rows,
    notes,
)
from taut.explain import Options, as_document, explain_events, explain_gaps
from taut.explain.judge.verdicts import GapVerdicts
from taut.explain.walk.calibrate import Calibration, EntryCost

MS, US = 1_000_000, 1_000


def hogged(n=10):
    trace = MadeTrace()
    for t in range(0, n * 1_000_000, 1_000_000):
        trace.switch(t + 100, POLLER, HOG, PREEMPTED).switch(t + 400_100, HOG, POLLER)
        trace.vector(t + 600_000, t + 602_000)
    return trace


def test_a_hog_on_the_core_of_any_process_is_found():
    found = explain_events(hogged().events(), CORE, POLLER, notes())

    worst = found.gap_totals[0]
    assert (worst.cause, worst.n, worst.total_ns) == ("preemption", 10, 4_000_000)
    assert worst.by == {'"hog"/200': 4_000_000}
    assert found.worst_gaps[0].detail == '"hog"/200'
    assert found.name == '"poller"/100'
    assert sum(s.ns for s in found.worst_gaps[0].shares) == 400_000
    assert "not seen" in as_document(found).notes[0]


def test_interruptions_right_after_another_are_one_stall():
    trace = MadeTrace().vector(1_000, 2_000).add(2_100, "softirq_entry", 1)
    trace.add(9_000, "softirq_exit", 1).vector(50_000, 51_000)

    found = explain_events(trace.events(), CORE, POLLER, notes())

    starts = found.gaps["start_ns"].to_pylist()
    assert (starts, found.gaps["cause"].to_pylist()) == ([1_000, 50_000], ["softirq", "timer"])


def test_nothing_is_told_of_a_time_whose_events_were_not_kept():
    trace = MadeTrace().vector(1_000, 2_000).switch(9_000, POLLER, HOG, PREEMPTED)
    trace.add(10_000, "skipped", 99, 80_000, cpu=OTHER_CORE).switch(90_000, HOG, POLLER)
    trace.vector(95_000, 96_000)

    found = explain_events(trace.events(), CORE, POLLER, notes())

    # Who had the core in between is not known, and before the switch back it was not the poller.
    stalls = [(g["start_ns"], g["end_ns"], g["cause"]) for g in found.gaps.to_pylist()]
    assert stalls == [
        (1_000, 2_000, "timer"),
        (9_000, 10_000, "preemption"),
        (95_000, 96_000, "timer"),
    ]


def test_a_known_cost_of_entry_makes_stalls_as_long_as_they_are():
    calibration = Calibration({"any interrupt": EntryCost(100, 12_000, 20_000)})
    trace = MadeTrace().vector(100_000, 102_000).vector(108_000, 109_000)

    found = explain_events(trace.events(), CORE, POLLER, notes(), calibration)

    gaps = found.gaps.to_pylist()
    assert [(g["start_ns"], g["end_ns"]) for g in gaps] == [(94_000, 105_000), (105_000, 115_000)]
    assert all(g["net_ns"] + g["model_ns"] + g["residual_ns"] for g in gaps)


def test_a_page_fault_has_a_nominal_length_and_does_not_last_to_the_next_event():
    trace = MadeTrace().add(1_000, "page_fault", 0x1000, 1).vector(900_000, 901_000)

    found = explain_events(trace.events(), CORE, POLLER, notes())

    assert {g.cause: g.total_ns for g in found.gap_totals} == {"page-fault": 1_000, "timer": 1_000}


def test_no_events_of_the_core_is_no_stall():
    trace = MadeTrace().vector(1, 2, cpu=OTHER_CORE)

    assert explain_events(trace.events(), CORE, POLLER, notes()).gaps.num_rows == 0


def beside_a_sleeper():
    """Ten milliseconds of a core that another thread has: the watched one is never seen."""
    trace = MadeTrace()
    for t in range(0, 10 * MS + 1, MS):
        trace.vector(t, t + US, thread=HOG)
    return trace


@pytest.mark.parametrize("looks", [(SLEEPS, SLEEPS), (SLEEPS, RUNNABLE), (RUNNABLE, SLEEPS)])
def test_a_thread_that_slept_throughout_was_not_held_up(looks):
    found = explain_events(beside_a_sleeper().events(), CORE, POLLER, notes(), looks=looks)

    assert (found.gap_totals, found.gaps.num_rows) == ((), 0)
    assert found.notes[1:] == ("it slept all the time: nobody held it up",)


def test_a_thread_that_was_to_run_throughout_and_never_did_was_held_up():
    found = explain_events(beside_a_sleeper().events(), CORE, POLLER, notes())

    assert [(t.cause, t.total_ns) for t in found.gap_totals] == [("preemption", 10 * MS + US)]
    assert len(found.notes) == 1


def test_a_sleeper_that_is_woken_and_gets_no_core_is_held_up_from_then_on():
    trace = beside_a_sleeper().add(3 * MS + 50 * US, "wakeup", POLLER, CORE, thread=HOG)

    looks = (SLEEPS, RUNNABLE)
    found = explain_events(trace.events(), CORE, POLLER, notes(), looks=looks)

    stalls = [(g["start_ns"], g["end_ns"], g["cause"]) for g in found.gaps.to_pylist()]
    assert stalls == [(3 * MS + 50 * US, 10 * MS + US, "preemption")]
    assert len(found.notes) == 1


def test_a_thread_that_was_stopped_throughout_was_stopped():
    found = explain_events(
        beside_a_sleeper().events(), CORE, POLLER, notes(), looks=(STOPPED, STOPPED)
    )

    assert {total.cause for total in found.gap_totals} == {"stopped"}


def test_a_thread_that_slept_until_it_was_first_seen_was_not_held_up_before():
    trace = MadeTrace().vector(0, US, thread=0).switch(MS, 0, HOG).switch(5 * MS, HOG, POLLER)
    trace.vector(6 * MS, 6 * MS + US).switch(7 * MS, POLLER, HOG, SLEEPS)
    trace.switch(9 * MS, HOG, 0).vector(10 * MS, 10 * MS + US, thread=0)

    found = explain_events(trace.events(), CORE, POLLER, notes(), looks=(SLEEPS, SLEEPS))

    assert found.gaps["start_ns"].to_pylist() == [6 * MS]


RECVFROM, SENDTO, KVM_RUN = 45, 44, 16


def sleeping_worker(n=200, records_calls=True):
    """It sleeps for 0.9 ms of each in recvfrom, wakes within half a microsecond, and sends."""
    trace = MadeTrace().vector(0, 100)
    for t in range(MS, n * MS, MS):
        if records_calls:
            trace.add(t, "syscall_entry", RECVFROM)
            trace.add(t + 902 * US, "syscall_exit", RECVFROM)
            trace.add(t + 950 * US, "syscall_entry", SENDTO)
            trace.add(t + 970 * US, "syscall_exit", SENDTO)
        trace.switch(t + US, POLLER, 0, SLEEPS)
        trace.add(t + 900 * US, "wakeup", POLLER, CORE, thread=0)
        trace.switch(t + 900 * US + 500, 0, POLLER)
    return trace


@pytest.mark.parametrize("records_calls", [True, False])
def test_system_calls_of_a_program_that_sleeps_are_its_work(records_calls):
    trace = sleeping_worker(records_calls=records_calls)

    found = explain_events(trace.events(), CORE, POLLER, notes())

    totals = {total.cause: (total.n, total.total_ns) for total in found.gap_totals}
    assert totals == {"idle-exit": (199, 199 * 500), "timer": (1, 100)}


def test_a_virtual_cpu_that_never_sleeps_works_in_its_system_call():
    """The host sees one KVM_RUN after the other, with an interrupt of its own now and then."""
    trace = MadeTrace().vector(0, 100).switch(5 * MS, POLLER, HOG, PREEMPTED)
    trace.switch(6 * MS, HOG, POLLER)
    for t in range(10 * MS, 200 * MS, 10 * MS):
        trace.add(t, "syscall_exit", KVM_RUN).add(t + 5 * US, "syscall_entry", KVM_RUN)

    found = explain_events(trace.events(), CORE, POLLER, notes())

    totals = {total.cause: total.total_ns for total in found.gap_totals}
    assert totals == {"preemption": MS, "timer": 100}
    assert found.notes[1:] == (
        "it is in system calls most of the time: they count as its work, not as stalls",
    )


def test_a_system_call_of_a_program_that_polls_is_a_stall():
    trace = MadeTrace().vector(0, 100).add(10 * MS, "syscall_entry", SENDTO)
    trace.add(12 * MS, "syscall_exit", SENDTO).vector(20 * MS, 20 * MS + 100)

    found = explain_events(trace.events(), CORE, POLLER, notes())

    assert {t.cause: t.total_ns for t in found.gap_totals} == {"syscall": 2 * MS, "timer": 200}


def test_one_long_system_call_of_a_program_that_polls_is_a_stall():
    trace = MadeTrace().vector(0, 100).add(10 * MS, "syscall_entry", SENDTO)
    trace.add(62 * MS, "syscall_exit", SENDTO).vector(100 * MS, 100 * MS + 100)

    found = explain_events(trace.events(), CORE, POLLER, notes())

    assert {t.cause: t.total_ns for t in found.gap_totals} == {"syscall": 52 * MS, "timer": 200}
    assert len(found.notes) == 1


def test_logged_gaps_without_packets_have_their_verdicts_and_senders():
    trace = MadeTrace().call(1_000, 8_000, FLUSH, sent_at=500)

    gaps = gap_rows((0, 9_000, "noise"), (20_000, 29_000, "noise"), (0, 9, "generator"))
    found = explain_gaps(gaps, trace.events(), CORE, notes(), options=Options(is_guest=True))

    rows = found.gaps.select(["cause", "grade", "by"]).to_pylist()
    assert rows == [
        {"cause": "tlb-shootdown", "grade": "A", "by": TELEMETRY},
        {"cause": "hypervisor-or-hardware", "grade": "C", "by": None},
    ]
    assert found.calls == (1, 1)


def test_who_had_a_gap_by_another_cause_did_not_take_it():
    trace = MadeTrace().vector(0, 100).vector(MS, MS + 60_000)
    trace.switch(MS + 60_200, POLLER, HOG).switch(MS + 100_000, HOG, POLLER)

    found = explain_events(trace.vector(2 * MS, 2 * MS + 100).events(), CORE, POLLER, notes())

    assert [(total.cause, dict(total.by)) for total in found.gap_totals] == [("timer", {})]


@pytest.mark.parametrize("cores", [[0], []])
def test_gaps_of_a_core_that_was_not_traced_are_unknown(cores):
    trace = MadeTrace().vector(1_000, 8_000, cpu=OTHER_CORE)

    found = explain_gaps(gap_rows((0, 9_000, "noise")), trace.events(), CORE, notes(cores=cores))

    assert found.gaps["cause"].to_pylist() == ["unknown"]


@pytest.mark.parametrize("is_guest", [True, False])
def test_a_wake_up_far_longer_than_usual_may_have_been_somebody_elses(is_guest):
    trace = sleeping_worker(records_calls=False)
    trace.switch(200 * MS + US, POLLER, 0, SLEEPS)
    trace.add(200 * MS + 100 * US, "wakeup", POLLER, CORE, thread=0)
    trace.switch(200 * MS + 400 * US, 0, POLLER)

    # Of firmware nothing is counted here.
    options = Options(is_guest=is_guest, n_worst=2)
    found = explain_events(trace.events(), CORE, POLLER, notes(), options=options)

    long, usual = found.worst_gaps
    assert long.grade == ("C" if is_guest else "D")
    assert usual.grade == "B"


def test_to_tell_of_one_gap_no_column_of_all_is_worked_out(monkeypatch):
    # Of 200,000 gaps, as an overloaded device has, that took minutes.
    monkeypatch.setattr(GapVerdicts, "detail", property(lambda _: pytest.fail("for all gaps")))

    found = explain_events(sleeping_worker().events(), CORE, POLLER, notes())

    assert found.worst_gaps[0].detail == ""
