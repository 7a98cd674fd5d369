from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_trace import (
    CALL_SINGLE,
    CORE,
    HOG,
    OTHER_CORE,
    POLLER,
    RESCHEDULE,
    TELEMETRY,
    MadeTrace,
    gap_rows,
    notes,
)
from taut.explain.judge.shares import share_out
from taut.explain.judge.verdicts import judge, mark
from taut.explain.read.events import no_events
from taut.explain.read.facts import Facts, facts_of
from taut.explain.read.names import Names
from taut.explain.read.senders import Senders, join_senders
from taut.explain.read.spans import spans_of
from taut.explain.tell.gap_table import gap_table
from taut.explain.tell.gaps import shares_of, tell_gap
from taut.explain.walk.calibrate import LEAST_SAMPLES, Calibration, EntryCost, calibrate
from taut.explain.walk.contexts import Watched
from taut.explain.walk.timeline import build_timeline
from taut.records.layout import EVENT_KINDS

NONE = Senders(np.empty(0, np.int64), 0, 0)


def judged(trace, gaps, calibration=None, per_packet_ns=0, is_guest=True, **trace_json):
    events, names = trace.events() if trace.rows else no_events(), notes(**trace_json)
    spans = spans_of(gap_rows(*gaps), "forwarder", CORE, events, per_packet_ns)
    watched = Watched(CORE, POLLER)
    segments = build_timeline(
        events, watched, (spans.start_ns, spans.end_ns), Names(names), join_senders(events)
    )
    calibration = calibration or calibrate([(spans, segments)])
    shares = share_out(spans, segments, calibration)
    facts = facts_of(events, names, CORE, POLLER, is_guest, is_traced=True)
    return judge(spans, segments, shares, facts, mark(spans, events, names))


def model(median, p99=None):
    cost = EntryCost(1000, median, median if p99 is None else p99)
    return Calibration({"any interrupt": cost})


def only(verdicts):
    assert len(verdicts.spans) == 1
    return tell_gap(verdicts, 0)


KINDS = [kind for kind in EVENT_KINDS if kind is not None and kind != "lost"]
THREADS = [POLLER, POLLER, HOG, 0, TELEMETRY]

event = st.tuples(
    st.integers(0, 50_000),
    st.sampled_from(THREADS),
    st.sampled_from([CORE, CORE, CORE, OTHER_CORE]),
    st.sampled_from(KINDS),
    st.one_of(st.integers(0, 12), st.sampled_from([POLLER, POLLER | 4 << 32, 2**64 - 1])),
    st.one_of(st.integers(0, 5_000), st.sampled_from([POLLER, HOG | 49 << 32, 2**64 - 1])),
)
hole = st.tuples(st.integers(0, 50_000), st.integers(0, 5_000))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(event, max_size=60),
    st.lists(hole, max_size=3),
    st.lists(st.integers(0, 50_000), min_size=2, max_size=12, unique=True),
    st.integers(0, 20_000),
    st.integers(0, 40),
)
def test_shares_and_residual_are_all_of_the_gap(events, holes, edges, median, n_packets):
    trace = MadeTrace()
    trace.rows = events + [(t, 0, CORE, "lost", 1, t + width) for t, width in holes]
    edges = sorted(edges[: len(edges) // 2 * 2])
    gaps = [(a, b, "forwarder", n_packets) for a, b in zip(edges[::2], edges[1::2], strict=True)]

    verdicts = judged(trace, gaps, model(median, 2 * median), per_packet_ns=250)

    table = gap_table([verdicts])
    for i, (start, end, *_) in enumerate(gaps):
        parts = shares_of(verdicts, i)
        assert all(part.ns >= 0 for part in parts)
        assert sum(part.ns for part in parts) == end - start
        columns = ("net_ns", "model_ns", "work_ns", "residual_ns")
        assert sum(table[c][i].as_py() for c in columns) == end - start
        is_lost = any(t <= end and t + width >= start for t, width in holes)
        assert (tell_gap(verdicts, i).cause == "trace-lost") == is_lost


def ticks(n, cost, handler=2_000, extra=()):
    """Gaps of one tick each, a millisecond apart; `extra` lengthens some."""
    trace, gaps = MadeTrace(), []
    for i in range(n):
        start = 1_000_000 * i
        longer = extra[i] if i < len(extra) else 0
        trace.vector(start + cost // 2, start + cost // 2 + handler)
        gaps.append((start, start + cost + handler + longer, "forwarder"))
    return trace, gaps


def test_what_an_interrupt_costs_outside_its_handler_is_learnt():
    trace, gaps = ticks(100, 12_000, extra=[3_000] * 2)
    spans = spans_of(gap_rows(*gaps), "forwarder", CORE, trace.events())

    verdicts = judged(trace, gaps)
    found = calibrate([(spans, verdicts.segments)])

    assert found.costs["local_timer"] == EntryCost(100, 12_000, 15_000)
    assert found.empty_gaps == 0


def test_too_few_gaps_teach_nothing():
    trace, gaps = ticks(LEAST_SAMPLES - 1, 12_000)

    assert shares_of(judged(trace, gaps), 0)[-1].ns == 12_000


def test_the_model_explains_entry_and_exit_and_the_tick_is_to_blame():
    trace, gaps = ticks(100, 12_000)

    story = tell_gap(judged(trace, gaps), 5)

    assert story.cause == "timer"
    assert [(s.label, s.ns) for s in story.shares] == [
        ("entry and exit", 12_000),
        ("timer", 2_000),
        ("residual", 0),
    ]


def test_a_tick_inside_a_stolen_millisecond_is_not_to_blame():
    trace, gaps = ticks(100, 12_000, extra=[900_000])

    verdicts = judged(trace, gaps)

    story = tell_gap(verdicts, 0)
    assert (story.cause, story.grade) == ("hypervisor-or-hardware", "C")
    assert story.shares[-1].ns == 900_000
    assert "a trace of the host" in story.missing
    assert tell_gap(verdicts, 1).cause == "timer"


def test_an_empty_gap_is_hypervisor_or_hardware_by_exclusion():
    story = only(judged(MadeTrace(), [(0, 9_000, "forwarder")]))

    assert (story.cause, story.grade) == ("hypervisor-or-hardware", "C")
    assert [(s.label, s.ns) for s in story.shares] == [("residual", 9_000)]


def test_nothing_is_excluded_when_the_kernel_lacks_the_events():
    missing = [{"event": "sched/sched_switch", "costs": "preemption is not seen"}]

    story = only(judged(MadeTrace(), [(0, 9_000, "forwarder")], missing=missing))

    assert (story.cause, story.grade) == ("unknown", "D")
    assert story.missing == ("the kernel's sched/sched_switch",)


@pytest.mark.parametrize("where", [(0, 100), (8_000, 20_000), (-5, 50_000), (9_000, 9_000)])
def test_a_hole_in_the_record_is_never_hardware(where):
    trace = MadeTrace().vector(3_000, 8_500).add(where[0], "lost", 5, where[1])

    story = only(judged(trace, [(0, 9_000, "forwarder")]))

    assert (story.cause, story.grade) == ("trace-lost", "D")
    assert sum(s.ns for s in story.shares) == 9_000


def test_a_gap_while_no_trace_ran_is_unknown():
    trace = MadeTrace().vector(20_000, 21_000).add(90_000, "switch", 0, 0, cpu=OTHER_CORE)
    gaps = [(0, 9_000, "forwarder"), (30_000, 39_000, "forwarder"), (88_000, 95_000, "forwarder")]

    verdicts = judged(trace, gaps, armed_ns=10_000, stopped_ns=94_000)

    in_time = "hypervisor-or-hardware"
    stories = [tell_gap(verdicts, i) for i in range(3)]
    assert [story.cause for story in stories] == ["unknown", in_time, "unknown"]
    assert stories[0].missing == ("kernel events: the trace did not run all of that time",)


NOT_KEPT = "its events were not kept (--trace tail)"


@pytest.mark.parametrize("where", [(0, 100), (8_000, 20_000), (-5, 50_000), (9_000, 9_000)])
def test_where_events_were_not_kept_nothing_is_known(where):
    # The mark is of all cores, whichever it was written for.
    trace = MadeTrace().vector(3_000, 8_500).add(where[0], "skipped", 5, where[1], cpu=OTHER_CORE)

    story = only(judged(trace, [(0, 9_000, "forwarder")]))

    assert (story.cause, story.grade, story.missing) == ("unknown", "D", (NOT_KEPT,))
    assert sum(s.ns for s in story.shares) == 9_000


def test_between_what_was_not_kept_verdicts_are_as_ever():
    trace = MadeTrace().add(-9_000, "skipped", 5, 0).vector(3_000, 8_500)
    trace.add(30_000, "skipped", 5, 90_000)

    verdicts = judged(trace, [(1, 9_000, "forwarder"), (20_000, 29_000, "forwarder")])

    assert [tell_gap(verdicts, i).cause for i in (0, 1)] == ["timer", "hypervisor-or-hardware"]


def test_what_was_lost_is_lost_though_more_was_not_kept():
    trace = MadeTrace().add(0, "lost", 5, 5_000).add(5_000, "skipped", 5, 50_000)

    assert only(judged(trace, [(0, 9_000, "forwarder")])).cause == "trace-lost"


def unseen(**window):
    """A hundred gaps of one tick and a hundred empty ones; half of each were not traced whole."""
    trace, gaps = ticks(100, 12_000)
    gaps += [(start + 500_000, end + 500_000, name) for start, end, name in gaps]
    if not window:
        trace.add(50_000_000 - 1, "skipped", 5, 100_000_000)
    spans = spans_of(gap_rows(*sorted(gaps)), "forwarder", CORE, trace.events(), **window)
    watched, bounds = Watched(CORE, POLLER), (spans.start_ns, spans.end_ns)
    events = trace.events()
    segments = build_timeline(events, watched, bounds, Names(notes()), join_senders(events))
    return calibrate([(spans, segments)])


def test_gaps_whose_events_were_not_kept_teach_nothing():
    found = unseen()

    assert found.costs["local_timer"].n == 50
    assert found.empty_gaps == 50
    # From the first gap to where nothing more was kept.
    assert found.watched_ns == 50_000_000 - 1


def test_gaps_while_no_trace_ran_teach_nothing():
    found = unseen(window_ns=(0, 50_000_000 - 1))

    assert (found.costs["local_timer"].n, found.empty_gaps) == (50, 50)


def test_a_hole_elsewhere_does_not_matter():
    trace = MadeTrace().vector(3_000, 8_500).add(9_001, "lost", 5, 9_500)
    trace.add(100, "lost", 5, 200, cpu=OTHER_CORE)

    assert only(judged(trace, [(0, 9_000, "forwarder")])).cause == "timer"


def test_a_loop_full_of_packets_is_a_queue():
    verdicts = judged(MadeTrace(), [(0, 9_000, "forwarder", 32)], per_packet_ns=250)

    story = only(verdicts)
    assert story.cause == "queueing"
    assert [(s.label, s.ns) for s in story.shares] == [("own packets", 8_000), ("residual", 1_000)]


def test_several_causes_that_share_a_gap_lower_the_grade():
    trace = MadeTrace().vector(1_000, 5_000).add(5_000, "irq_entry", 24).add(8_500, "irq_exit", 24)

    story = only(judged(trace, [(0, 10_000, "forwarder")]))

    assert (story.cause, story.grade) == ("timer", "C")
    assert any("several" in words for words in story.missing)


def test_who_took_most_is_told_first_and_the_rest_counted():
    trace = MadeTrace().switch(0, POLLER, 301)
    for thread, following, until in ((301, HOG, 5_000), (HOG, 302, 9_000), (302, 301, 12_000)):
        trace.switch(until, thread, following)
    trace.switch(15_000, 301, POLLER)

    story = only(judged(trace, [(0, 15_000, "forwarder")]))

    assert story.shares[0].detail == 'thread 301, "hog"/200 and 1 more'


def counters(before, after):
    return {"counters": {"before": before, "after": after}}


@pytest.mark.parametrize(("n", "grade"), [(0, "B"), (1, "A"), (2, "B"), (40, "B")])
def test_a_counter_that_agrees_in_number_makes_it_certain(n, grade):
    rows = [{"interrupts": {"LOC": {str(CORE): m}}} for m in (10, 10 + n)]
    trace = MadeTrace().vector(1_000, 8_000)

    story = only(judged(trace, [(0, 9_000, "forwarder")], **counters(*rows)))

    assert (story.cause, story.grade) == ("timer", grade)
    words = f"a counter that agrees in number (interrupts LOC: {n} counted, 1 recorded)"
    assert story.missing == (() if grade == "A" else (words,))


def test_a_counter_that_was_not_read_makes_nothing_certain():
    story = only(judged(MadeTrace().vector(1_000, 8_000), [(0, 9_000, "forwarder")]))

    assert story.grade == "B"
    assert story.missing == ("a counter that agrees in number (interrupts LOC)",)


def test_another_threads_function_call_does_not_make_a_reschedule_certain():
    trace = MadeTrace().vector(1_000, 8_000, RESCHEDULE).send(500, HOG, callback=CALL_SINGLE)
    story = only(judged(trace, [(0, 9_000, "forwarder")]))

    assert (story.cause, story.grade, story.detail) == ("reschedule", "B", "")
    assert story.missing[0] == "who sent it: no event proves it"

    sure = only(judged(trace.send(400, TELEMETRY), [(0, 9_000, "forwarder")]))
    assert (sure.grade, sure.detail) == ("A", 'by "telemetry"/4711 on cpu0')


def test_an_idle_core_is_throttling_only_where_a_quota_was_used_up():
    trace = MadeTrace().switch(1_000, POLLER, 0).switch(80_000, 0, POLLER)
    rows = [{"threads": {str(POLLER): {"cgroups": {"/x": {"throttled_us": n}}}}} for n in (1, 80)]

    idle = only(judged(trace, [(0, 81_000, "forwarder")]))
    sure = only(judged(trace, [(0, 81_000, "forwarder")], **counters(*rows)))

    assert (idle.cause, idle.grade) == ("unknown", "B")
    assert (sure.cause, sure.grade) == ("throttled", "A")


def test_firmware_is_named_when_its_counter_moved_as_often_as_the_core_stood_still():
    rows = [{"smi": {str(CORE): n}} for n in (5, 6)]

    story = only(judged(MadeTrace(), [(0, 200_000, "forwarder")], **counters(*rows)))

    assert (story.cause, story.grade) == ("smi", "D")


def empty(*lengths_us):
    """Gaps without events, a millisecond apart."""
    return [(i * 10**6, i * 10**6 + us * 1_000, "forwarder") for i, us in enumerate(lengths_us)]


def causes(verdicts):
    return [tell_gap(verdicts, i).cause for i in range(len(verdicts.spans))]


def smi_moved(n):
    return counters(*({"smi": {str(CORE): m}} for m in (5, 5 + n)))


def test_no_more_gaps_are_called_firmware_than_its_counter_moved_the_longest_first():
    other = "hypervisor-or-hardware"

    found = causes(judged(MadeTrace(), empty(20, 200, 90, 30), **smi_moved(2)))

    assert found == [other, "smi", "smi", other]
    assert causes(judged(MadeTrace(), empty(20, 200), **smi_moved(0))) == [other] * 2
    # Where there are many more, somebody else takes the core, and any of them may be his.
    assert causes(judged(MadeTrace(), empty(20, 200, 90), **smi_moved(1))) == [other] * 3


def test_a_gap_that_an_event_explains_is_not_counted_as_the_firmwares():
    trace = MadeTrace().vector(1_000, 190_000)

    assert causes(judged(trace, empty(200, 20), **smi_moved(1))) == ["timer", "smi"]


@pytest.mark.parametrize(
    ("moved", "is_guest", "found"),
    [
        # Both cores stood still in the second and third: these are the best.
        (1, False, [("C", False), ("C", False), ("C", True)]),
        (2, True, [("C", False), ("C", True), ("C", True)]),
        (3, False, [("D", True), ("C", True), ("C", True)]),
        (None, False, [("C", False), ("D", True), ("D", True)]),
        (None, True, [("C", False)] * 3),
    ],
)
def test_gaps_in_which_all_cores_stood_still_are_the_firmwares_first(moved, is_guest, found):
    spans = spans_of(gap_rows(*empty(500, 20, 30)), "forwarder", CORE, no_events())
    segments = build_timeline(
        no_events(), Watched(CORE, POLLER), (spans.start_ns, spans.end_ns), Names(notes()), NONE
    )
    shares = share_out(spans, segments, Calibration())
    elsewhere = np.array([False, True, True])
    marks = replace(mark(spans, no_events(), notes()), elsewhere=elsewhere)

    verdicts = judge(spans, segments, shares, Facts(smi=moved, is_guest=is_guest), marks)

    stories = [tell_gap(verdicts, i) for i in range(3)]
    assert [(s.grade, s.cause == "smi") for s in stories] == found


def test_a_machine_check_in_an_empty_gap_or_a_change_of_frequency_told_in_it_or_soon_after():
    marks = (("machine_check", 5), ("frequency", 5), ("frequency", 91), ("frequency", 150))
    causes = ("machine-check", "frequency", "frequency", "hypervisor-or-hardware")
    for (kind, told_us), cause in zip(marks, causes, strict=True):
        trace = MadeTrace().add(1_000 * told_us, kind, 1, 0)
        assert only(judged(trace, [(0, 90_000, "forwarder")])).cause == cause
