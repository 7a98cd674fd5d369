"""What was not recorded, or got lost, is no evidence: neither of hardware nor of anybody."""

import pytest

from made_trace import (
    CORE,
    HOG,
    OTHER_CORE,
    POLLER,
    PREEMPTED,
    MadeTrace,
    held,
    normal,
    paused,
    write_trial,
)
from taut.explain import Options, as_document, explain_trial

MS = 1_000_000


def only_episode(explanation):
    assert len(explanation.worst) == 1
    return explanation.worst[0]


@pytest.mark.parametrize(
    ("link", "watched", "missing", "grade"),
    [
        ("veth", [POLLER], [], "C"),
        ("veth", [], [], "D"),  # it was started again
        ("xdp", [POLLER], [{"event": "raw_syscalls/sys_enter", "costs": "calls"}], "D"),
        ("memif", [], [], "C"),  # it makes none
    ],
)
def test_a_call_of_a_device_that_was_not_recorded_is_not_excluded(
    tmp_path, link, watched, missing, grade
):
    start, end = 10 * MS + 15, 10 * MS + 200_000
    rows = held(normal(3_000), start, end)
    dut = {"driver": "taut_forward", "options": {}, "link": link}
    before = {"threads": {str(thread): {} for thread in watched}}
    traced = {"counters": {"before": before, "after": {}}, "missing": missing}
    # A second gap shows who polls there.
    gaps = [(1_000_000, 1_009_000, "forwarder"), (start, end, "forwarder")]
    trace = MadeTrace().vector(1_001_000, 1_008_000)

    trial = write_trial(tmp_path, rows, gaps, trace, meta={"dut": dut}, **traced)
    story = only_episode(explain_trial(trial, Options(over="20us", is_guest=False)))

    assert (story.cause, story.grade) == ("hypervisor-or-hardware", grade)


@pytest.mark.parametrize(("link", "grade"), [("memif", "C"), ("veth", "D")])
def test_a_call_of_the_generator_that_was_not_recorded_is_not_excluded(tmp_path, link, grade):
    # The generator starts after the trace: its calls are in no trace, and over memif it makes none.
    start, end = 10 * MS + 500, 15 * MS
    dut = {"driver": "taut_forward", "options": {}, "link": link}

    trial = write_trial(
        tmp_path,
        paused(normal(3_000), start, end),
        [(start, end, "generator")],
        MadeTrace().vector(1, 2),
        meta={"dut": dut},
    )
    story = only_episode(explain_trial(trial, Options(over="20us", is_guest=False)))

    assert (story.cause, story.gap.cause) == ("measurer", "hypervisor-or-hardware")
    assert story.gap.grade == grade
    not_recorded = "its own system calls and page faults: they were not recorded"
    assert (f"a guess; missing: {not_recorded}" in story.line) == (link == "veth")


@pytest.mark.parametrize(("moved", "cause"), [(0, "hypervisor-or-hardware"), (7, "unknown")])
def test_nothing_is_excluded_where_interrupts_have_no_events(tmp_path, moved, cause):
    # A guest of Hyper-V: its timer and its devices come by vectors without tracepoints.
    start, end = 10 * MS + 15, 10 * MS + 200_000
    read = [{"interrupts": {"HVS": {str(CORE): n}}} for n in (5, 5 + moved)]
    counters = dict(zip(("before", "after"), read, strict=True))

    gaps, trace = [(start, end, "forwarder")], MadeTrace().vector(1, 2)
    rows = held(normal(3_000), start, end)
    trial = write_trial(tmp_path, rows, gaps, trace, counters=counters)
    story = only_episode(explain_trial(trial, Options(over="20us")))

    assert story.cause == cause
    assert any("Hyper-V" in words for words in story.missing) == (moved > 0)


def test_lost_events_are_never_hardware(tmp_path):
    start, end = 10 * MS, 10 * MS + 50_000
    trace = MadeTrace().add(start - 5_000, "lost", 1_000, end + 5_000)

    trial = write_trial(
        tmp_path, held(normal(3_000), start, end), [(start, end, "forwarder")], trace
    )
    found = explain_trial(trial, Options(over="9us"))

    assert {total.cause for total in found.causes} == {"trace-lost"}
    assert as_document(found).shares["trace_lost"] == 1.0


@pytest.mark.parametrize(("lost", "cause"), [(False, "smi"), (True, "hypervisor-or-hardware")])
def test_a_core_whose_events_were_lost_is_not_one_that_stood_still(tmp_path, lost, cause):
    start, end = 10 * MS + 15, 10 * MS + 200_000
    rows = held(normal(3_000), start, end)
    trace = MadeTrace().vector(1, 2)
    if lost:
        trace.add(9 * MS, "lost", 1_000, 11 * MS, thread=0, cpu=OTHER_CORE)
    gaps = [(start, end, "forwarder"), (start + 20_000, end - 20_000, "generator")]
    # The firmware's counter moved once, and a longer gap can have been that.
    rows = held(rows, 20 * MS + 15, 20 * MS + 300_000)
    gaps.append((20 * MS + 15, 20 * MS + 300_000, "forwarder"))
    counters = {name: {"smi": {"0": n, "1": n}} for name, n in (("before", 5), ("after", 6))}

    trial = write_trial(tmp_path, rows, gaps, trace, counters=counters)
    found = explain_trial(trial, Options(over="50us", is_guest=False))

    assert {s.cause for s in found.worst if s.first_seq <= 1_001} == {cause}


def test_of_a_tail_trace_packets_where_nothing_was_kept_are_unknown_and_say_so(tmp_path):
    kept, dark = (10 * MS, 10 * MS + 50_000), (20 * MS, 20 * MS + 50_000)
    rows = held(held(normal(3_000), *kept), *dark)
    trace = MadeTrace().add(0, "skipped", 9, 9 * MS)
    trace.switch(kept[0] + 100, POLLER, HOG, PREEMPTED).switch(kept[1] - 100, HOG, POLLER)
    trace.add(11 * MS, "skipped", 9, 30 * MS)
    others = [(t, t + 5_000, "forwarder") for t in range(1 * MS, 8 * MS, MS)]
    for start, end, _ in others:
        rows = held(rows, start, end)
    gaps = [(*kept, "forwarder"), (*dark, "forwarder"), *others]

    trial = write_trial(tmp_path, rows, gaps, trace, mode="tail")
    found = explain_trial(trial, Options(over="9us", n_worst=3))

    missing = {story.cause: story.missing for story in found.worst}
    assert missing.keys() == {"preemption", "unknown"}
    assert missing["unknown"] == ("its events were not kept (--trace tail)",)
    assert {story.grade for story in found.worst if story.cause == "unknown"} == {"D"}
    assert found.share_of("hypervisor-or-hardware") == 0
    # Gaps nobody met count, though most of them are not looked into.
    [unknown] = [total for total in found.gap_totals if total.cause == "unknown"]
    assert (unknown.n, unknown.total_ns, unknown.worst_ns) == (8, 50_000 + 7 * 5_000, 50_000)
    assert found.gaps.num_rows == 5
    assert "4 gaps that met no late packet" in found.notes[0]
    assert found.calibration.empty_gaps == 0


def test_without_a_trace_a_stall_is_unknown_and_says_so(tmp_path):
    start, end = 10 * MS, 10 * MS + 50_000

    trial = write_trial(tmp_path, held(normal(3_000), start, end), [(start, end, "forwarder")])
    found = explain_trial(trial, Options(over="9us"))

    story = found.worst[0]
    assert story.cause == "unknown"
    assert story.missing == ("kernel events: none were recorded on this core",)
    assert found.notes == ("no kernel events: the run was not traced",)
    assert found.share_of("unknown") == 1.0


def test_gaps_that_were_not_logged_are_said(tmp_path):
    dut = {"driver": "taut_forward", "options": {}, "stats": {"gaps": {"not_logged": 7}}}
    trace = MadeTrace().vector(1, 2)

    trial = write_trial(tmp_path, normal(3_000), trace=trace, meta={"dut": dut})
    found = explain_trial(trial, Options(over="20us"))

    assert found.notes == (
        "7 gaps of the device were not logged; what happened in them stays unknown",
    )
    assert as_document(found).notes == found.notes


def test_a_device_without_a_gap_log_is_explained_by_events_alone(tmp_path):
    start, end = 10 * MS, 11 * MS
    trace = MadeTrace().vector(1_000, 2_000).vector(3_000, 4_000)
    trace.switch(start, POLLER, HOG, PREEMPTED).switch(end, HOG, POLLER)
    dut = {"driver": "testpmd", "options": {}, "stats": None}

    trial = write_trial(tmp_path, held(normal(3_000), start, end), [], trace, meta={"dut": dut})
    found = explain_trial(trial, Options(over="20us"))

    assert only_episode(found).cause == "preemption"
    assert any("no log of gaps" in note for note in found.notes)


def test_without_a_gap_log_a_packet_where_nothing_was_kept_says_so(tmp_path):
    start, end = 10 * MS, 10 * MS + 22_000
    trace = MadeTrace().vector(1_000, 2_000).vector(3_000, 4_000)
    trace.add(5 * MS, "skipped", 7, 20 * MS).vector(21 * MS, 21 * MS + 1_000)
    dut = {"driver": "testpmd", "options": {}, "stats": None}

    trial = write_trial(tmp_path, held(normal(3_000), start, end), [], trace, meta={"dut": dut})
    story = only_episode(explain_trial(trial, Options(over="20us")))

    assert story.cause == "unknown"
    assert story.missing == ("its events were not kept (--trace tail)",)
