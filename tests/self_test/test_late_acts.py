"""What counts as an act on a path that explain has right; nothing runs here."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from made_trace import (
    HOG,
    OTHER_CORE,
    POLLER,
    STOPPED,
    MadeTrace,
    held,
    normal,
    paused,
    stop,
    write_trial,
)
from taut.explain import Explanation, Options, causes, explain_trial
from taut.explain.cause import Cause
from taut.records.layout import PacketFlag
from taut.self_test.acts import Acts
from taut.self_test.confusion import Confusion
from taut.self_test.late_acts import (
    Due,
    Wanted,
    confuse_packets,
    control_of,
    due_of,
    meets,
)

MS = 1_000_000
AT = (20 * MS, 25 * MS)
INJECTOR = 900
N = 6_000
"""Packets: one each 10 us."""
ALL_VOID = Due(np.empty(0, np.int64), np.zeros(1, np.int64))


def acts(*times: tuple[int, int]) -> Acts:
    start, end = (np.array(column, np.int64) for column in zip(*times, strict=True))
    return Acts(start, end, np.full(len(times), INJECTOR))


def explained(folder: Path, trace: MadeTrace, *stalls: tuple[int, int]) -> Explanation:
    """A device that stood still at these times, and keeps a log."""
    rows = normal(N)
    for stall in stalls:
        rows = held(rows, *stall)
    gaps = [(*stall, "forwarder") for stall in stalls]
    return explain_trial(write_trial(folder, rows, gaps, trace), Options(over="20us"))


def hold(found: Explanation, cause: Cause, *times: tuple[int, int]) -> Confusion:
    return confuse_packets(Wanted("act", cause, (cause,), 2_000), acts(*times), found, ALL_VOID)


def hogged(start: int, end: int, by: int = INJECTOR) -> MadeTrace:
    return MadeTrace().switch(start + 50, POLLER, by).switch(end - 50, by, POLLER)


def test_a_stop_whose_packets_are_stopped_is_right(tmp_path: Path) -> None:
    found = hold(explained(tmp_path, stop(*AT), AT), causes.STOPPED, AT)

    assert (found.n_felt, found.n_right, found.recall, found.precision) == (1, 1, 1.0, 1.0)
    assert found.n_said == found.n_at_act > 300


def test_an_act_that_made_nothing_late_is_not_felt(tmp_path: Path) -> None:
    found = hold(explained(tmp_path, stop(*AT), AT), causes.STOPPED, AT, (40 * MS, 45 * MS))

    assert (found.n_acts, found.n_felt) == (2, 1)


def test_what_was_late_of_a_longer_stall_is_not_of_the_act(tmp_path: Path) -> None:
    whole = explained(tmp_path, stop(10 * MS, 40 * MS), (10 * MS, 40 * MS))

    # Those that were sent right before its end were made late by no more than the act's time.
    assert hold(whole, causes.STOPPED, (20 * MS, 21 * MS)).n_felt == 0


def test_a_verdict_that_nothing_of_the_act_speaks_for_is_a_miss(tmp_path: Path) -> None:
    found = hold(explained(tmp_path, stop(*AT), AT), causes.THROTTLED, AT)

    assert (found.n_right, found.found) == (0, 0.0)
    assert found.why_missed == {"its packets are stopped, and no gap holds the act": 1}


def test_an_act_with_something_larger_in_its_gap_is_beside(tmp_path: Path) -> None:
    until = 22_450_000
    trace = hogged(AT[0], until).switch(until, POLLER, 0, STOPPED)
    trace.add(AT[1] - 900, "wakeup", POLLER, 1, thread=HOG, cpu=OTHER_CORE)
    trace.switch(AT[1] - 100, 0, POLLER)

    found = hold(explained(tmp_path, trace, AT), causes.PREEMPTION, (AT[0], until))

    assert (found.n_felt, found.n_right, dict(found.beside)) == (1, 0, {"stopped": 1})
    assert found.found == 1.0


@pytest.mark.parametrize(("by", "n_right"), [(INJECTOR, 1), (HOG, 0)])
def test_the_hog_has_to_be_the_one_that_was_sent(tmp_path: Path, by: int, n_right: int) -> None:
    found = hold(explained(tmp_path, hogged(*AT, by), AT), causes.PREEMPTION, AT)

    assert (found.n_felt, found.n_right) == (1, n_right)


def test_verdicts_at_no_act_are_others_only_if_the_kernel_names_them(tmp_path: Path) -> None:
    first, second, last = AT, (30 * MS, 33 * MS), (40 * MS, 45 * MS)
    trace = hogged(*first).switch(second[0], POLLER, HOG).switch(second[1], HOG, POLLER)
    trace.switch(last[0] + 50, POLLER, INJECTOR).switch(last[1] - 50, INJECTOR, POLLER)
    found = hold(explained(tmp_path, trace, first, second, last), causes.PREEMPTION, first, last)

    assert (found.n_right, found.n_unexplained) == (2, 0)
    assert found.n_others > 200
    assert found.n_said == found.n_at_act + found.n_others


def generator_stopped(folder: Path) -> Explanation:
    rows = paused(normal(N), *AT)
    trace = MadeTrace()
    trace.add(AT[0] + 100, "switch", 300 | STOPPED << 32, 120 << 32, thread=300, cpu=OTHER_CORE)
    trace.add(AT[1] - 900, "wakeup", 300, OTHER_CORE, thread=HOG, cpu=1)
    trace.add(AT[1] - 100, "switch", 0, 300 | 120 << 32, thread=0, cpu=OTHER_CORE)
    trial = write_trial(folder, rows, [(*AT, "generator")], trace)
    return explain_trial(trial, Options(over="20us", generator_thread=300))


def due(*, counts: bool) -> Due:
    times = np.arange(0, 60 * MS, 10_000)
    flags = np.full(len(times), 0 if counts else int(PacketFlag.VOID), np.uint16)
    return due_of(pa.table({"due_ns": times, "flags": flags}))


@pytest.mark.parametrize("counts", [False, True])
def test_a_generator_that_stood_is_right_if_what_was_due_does_not_count(
    tmp_path: Path, counts: bool
) -> None:
    wanted = Wanted("generator-stop", causes.STOPPED, (causes.MEASURER,), 2_000)

    found = confuse_packets(wanted, acts(AT), generator_stopped(tmp_path), due(counts=counts))

    assert found.n_felt == 1
    assert (found.n_right, dict(found.beside)) == ((0, {"unknown": 1}) if counts else (1, {}))


def test_when_packets_were_due_is_read_in_order_whenever_their_records_came() -> None:
    # A lost packet's record comes last; an orphan was never due.
    rows = pa.table(
        {"due_ns": [10, 30, 40, None, 20], "flags": pa.array([0, 0, 0, 0, 1], "uint16")}
    )

    found = due_of(rows)

    assert found.due_ns.tolist() == [10, 20, 30, 40]
    assert PacketFlag(1) is PacketFlag.VOID
    assert found.n_valid.tolist() == [0, 1, 1, 2, 3]


def test_a_control_with_another_thread_in_it_is_no_false_verdict(tmp_path: Path) -> None:
    control = control_of(
        explained(tmp_path, hogged(*AT, HOG), AT), (causes.PREEMPTION, causes.STOPPED)
    )

    assert control.n_said == control.n_tail > 300
    assert (control.false, control.false_share) == ({}, 0.0)


def test_a_control_that_tells_of_stops_is_false(tmp_path: Path) -> None:
    control = control_of(explained(tmp_path, stop(*AT), AT), (causes.PREEMPTION, causes.STOPPED))

    assert control.false == {"stopped": control.n_tail}
    assert control.false_share == 1.0


def test_packets_meet_acts_that_lasted_while_they_were_on_their_way() -> None:
    sent, received = np.array([0, 5, 10, 30]), np.array([4, 12, 21, 40])

    met = meets(sent, received, np.array([8, 11]), np.array([20, 12]))

    assert met.tolist() == [False, True, True, False]
    assert not meets(sent, received, np.empty(0, int), np.empty(0, int)).any()


def test_gaps_of_two_threads_are_told_apart(tmp_path: Path) -> None:
    """A packet's gap is one of all that the device has, not the one of that number of a hop."""
    first, second = AT, (30 * MS, 35 * MS)
    trace = stop(*first)
    trace.switch(second[0] + 50, POLLER, HOG).switch(second[1] - 50, HOG, POLLER)
    counted = {"gaps": {"per_packet_ns": 250}}
    hops = [
        {"name": f"hop {n}", "core": 1, "threads": [thread], "stats": counted}
        for n, thread in ((1, 101), (2, POLLER))
    ]
    rows = held(held(normal(N), *first), *second)
    gaps = [(1 * MS, 1 * MS + 5_000, "hop 1"), (*first, "hop 2"), (*second, "hop 2")]
    meta = {"dut": {"driver": "chain", "link": "memif", "hops": hops}}
    found = explain_trial(write_trial(tmp_path, rows, gaps, trace, meta), Options(over="20us"))

    control = control_of(found, (causes.PREEMPTION, causes.STOPPED))

    assert control.n_said == control.n_tail > 600
    # The kernel names the hog; nobody stops a device by chance.
    assert list(control.false) == ["stopped"]
    assert 300 < control.false["stopped"] < control.n_tail
