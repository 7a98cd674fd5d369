"""A chain: each stall is told with the hop whose core was taken."""

import pyarrow.compute as pc
import pytest

from made_trace import HOG, POLLER, PREEMPTED, MadeTrace, held, normal, write_trial
from taut.explain import Options, as_document, explain_trial
from taut.explain.judge.device import holds_of
from taut.records.documents.trial import Dut, DutStats, Holds, Hop

MS = 1_000_000
SECOND, THIRD_CORE = 101, 2
OWN_CORES = (("hop 1", 1, POLLER), ("hop 2", THIRD_CORE, SECOND))
ONE_CORE = (("hop 1", 1, POLLER), ("hop 2", 1, SECOND))


def explain(tmp_path, rows, gaps, trace, hops=OWN_CORES, over="20us"):
    counted = {"gaps": {"per_packet_ns": 250}}
    meta = {
        "dut": {
            "driver": "chain",
            "link": "memif",
            "hops": [
                {"name": name, "core": core, "threads": [thread, thread + 1000], "stats": counted}
                for name, core, thread in hops
            ],
        }
    }
    names = {"100": "taut-forward", "101": "taut-forward", "200": "hog"}
    trial = write_trial(tmp_path, rows, gaps, trace, meta, threads=names, cores=[0, 1, 2])
    return explain_trial(trial, Options(over=over))


def taken(trace, thread, core, start, end):
    """A hog has a hop's core."""
    trace.add(start, "switch", thread | PREEMPTED << 32, HOG | 120 << 32, thread=thread, cpu=core)
    return trace.add(end, "switch", HOG, thread | 120 << 32, thread=HOG, cpu=core)


@pytest.mark.parametrize("hop", OWN_CORES)
def test_the_hop_whose_core_was_taken_is_named(tmp_path, hop):
    name, core, thread = hop
    start, end = 10 * MS + 5_000, 15 * MS + 5_000
    trace = taken(MadeTrace(), thread, core, start + 100, end - 100)

    found = explain(tmp_path, held(normal(3_000), start, end), [(start, end, name)], trace)

    [story] = found.worst
    assert (story.cause, story.gap.thread, story.gap.core) == ("preemption", name, core)
    assert f'late: {name}\'s core {core} was taken for 5 ms by another thread, "hog"' in story.line
    [offender] = [one for one in found.offenders if one.n_packets]
    assert (offender.role, offender.core, offender.n_packets) == (name, core, found.n_tail)
    document = as_document(found)
    assert document.worst[0].gap.thread == name
    assert document.counters.keys() == {"generator", "hop 1", "hop 2"}


def test_two_stalls_one_after_the_other_are_each_their_hops(tmp_path):
    first, second = (10 * MS + 5_000, 15 * MS + 5_000), (20 * MS + 5_000, 24 * MS + 5_000)
    rows = held(held(normal(3_000), *first), *second)
    trace = taken(MadeTrace(), SECOND, THIRD_CORE, *first)
    taken(trace, POLLER, 1, *second)

    found = explain(tmp_path, rows, [(*first, "hop 2"), (*second, "hop 1")], trace)

    assert [story.gap.thread for story in found.worst] == ["hop 2", "hop 1"]


def test_a_stall_inside_that_of_another_hop_made_nobody_late(tmp_path):
    start, end = 10 * MS + 5_000, 15 * MS + 5_000
    inner = (12 * MS, 14 * MS)
    trace = taken(MadeTrace(), SECOND, THIRD_CORE, start, end)
    taken(trace, POLLER, 1, *inner)
    rows = held(normal(3_000), start, end)

    found = explain(tmp_path, rows, [(start, end, "hop 2"), (*inner, "hop 1")], trace)

    assert {story.gap.thread for story in found.worst} == {"hop 2"}
    by_role = {one.role: one.n_packets for one in found.offenders}
    assert by_role == {"hop 2": found.n_tail, "hop 1": 0}
    # It is a stall of that hop all the same.
    assert pc.sum(pc.equal(found.gaps["thread"], "hop 1")).as_py() == 1


def test_where_two_stalls_overlap_each_has_the_packets_that_it_held_longer(tmp_path):
    first, second = (10 * MS, 15 * MS), (13 * MS, 21 * MS)
    rows = held(normal(3_000), first[0], second[1])
    trace = taken(MadeTrace(), POLLER, 1, *first)
    taken(trace, SECOND, THIRD_CORE, *second)

    found = explain(tmp_path, rows, [(*first, "hop 1"), (*second, "hop 2")], trace)

    late = {one.role: one.n_packets for one in found.offenders}
    assert late["hop 2"] > late.get("hop 1", 0)
    assert late["hop 2"] + late.get("hop 1", 0) == found.n_tail


def test_what_a_later_hop_lets_out_does_not_contradict_an_earlier_ones_stall(tmp_path):
    """Packets that had passed it come out meanwhile; one that went in and came out does."""
    start, end = 10 * MS + 5_000, 15 * MS + 5_000
    rows = held(normal(3_000), start, end)
    for row in rows[990:1_001]:  # sent before: they were in the second hop's ring
        row["received_ns"] = start + 1 * MS + 50 * (row["seq"] - 990)
    trace = taken(MadeTrace(), POLLER, 1, start, end)

    found = explain(tmp_path, rows, [(start, end, "hop 1")], trace)

    assert found.vetoed.device_stalls == 0
    assert found.worst[0].gap.end_ns == end


def test_hops_that_take_turns_on_a_core_are_told_from_each_other(tmp_path):
    start, end = 10 * MS + 5_000, 14 * MS + 5_000
    trace = MadeTrace().add(
        start, "switch", SECOND | PREEMPTED << 32, POLLER | 120 << 32, thread=SECOND
    )
    trace.add(end, "switch", POLLER | PREEMPTED << 32, SECOND | 120 << 32)
    rows = held(normal(3_000), start, end)

    found = explain(tmp_path, rows, [(start, end, "hop 2")], trace, hops=ONE_CORE)

    [story] = found.worst
    assert "hop 2's core 1 was taken for 4 ms by another thread" in story.line
    assert '"taut-forward of hop 1"' in story.line


def test_what_hops_hold_back_adds_up():
    def chain(*held_back):
        stats = (DutStats(holds=holds) for holds in held_back)
        return Dut(hops=tuple(Hop(f"hop {i}", 1, (), one) for i, one in enumerate(stats)))

    assert holds_of(chain(None, None)) is None
    assert holds_of(chain(Holds(32, 100_000), None, Holds(8, 1_000))) == Holds(40, 101_000)
    assert holds_of(chain(Holds(32, 100_000), Holds(8))) == Holds(40, None)
