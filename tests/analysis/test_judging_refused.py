"""Requirements judged where the link refused packets, as that of a device that is full does."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from made_calm import CALM
from made_packets import UNSENT, VOID
from made_run import MadeVariant, make_run
from taut.analysis.failing import Packets
from taut.analysis.judging import judge_run
from taut.analysis.proof import Verdict
from taut.analysis.results import analyse_run
from taut.core.requirement import parse_requirement
from taut.records.rundir import RunDirectory

MET, NOT_SHOWN = Verdict.MET, Verdict.NOT_SHOWN


def judged(folder, trial, text):
    made = (MadeVariant("device", "taut_forward", trial),)
    run = RunDirectory(make_run(folder / "run", made, repetitions=1))
    [found] = judge_run(run, analyse_run(run), [parse_requirement(text)])
    return found


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("loss < 10%", NOT_SHOWN),
        ("within(1s) >= 99%", NOT_SHOWN),
        ("window(1ns..1s) >= 99%", NOT_SHOWN),
        ("loss < 20%", MET),
        ("max < 1s", MET),
    ],
)
def test_where_more_were_refused_than_may_fail_nothing_passes(tmp_path, asked, expected):
    found = judged(tmp_path, replace(CALM, n_unsent=3_000), asked)

    assert found.verdict is expected
    words = "the link refused 3,000 of the 19,000 that were due, as a full one does"
    assert found.said.endswith(words) is (expected is NOT_SHOWN)


@pytest.mark.parametrize(("n_refused", "expected"), [(0, MET), (1_500, NOT_SHOWN)])
def test_the_lost_and_the_refused_may_be_too_many_together(tmp_path, n_refused, expected):
    # Of 19,000 packets 1,900 may be lost.
    found = judged(tmp_path, replace(CALM, n_lost=600, n_unsent=n_refused), "loss < 10%")

    assert found.verdict is expected


def test_no_length_shows_what_refused_packets_fail(tmp_path):
    found = judged(tmp_path, replace(CALM, n_unsent=3_000), "loss < 0.001%")

    assert (found.verdict, found.needed_ns) == (NOT_SHOWN, None)
    assert "times as long" not in found.said


@pytest.mark.parametrize(("n_refused", "expected"), [(0, MET), (100, NOT_SHOWN)])
def test_packets_that_came_back_late_by_the_generator_excuse_no_refusal(
    tmp_path, n_refused, expected
):
    gap = (100_000_000, 101_500_000)  # 150 packets

    found = judged(tmp_path, replace(CALM, generator_gap=gap, n_unsent=n_refused), "loss = 0")

    assert found.verdict is expected


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("in_a_row(1ms) <= 3", MET),
        ("in_a_row(1ms) <= 0", NOT_SHOWN),
        ("outage(1ms) <= 1ms", MET),
        ("outage(1ms) <= 9us", NOT_SHOWN),
    ],
)
def test_a_refused_packet_is_one_in_a_row_that_did_not_pass(tmp_path, asked, expected):
    found = judged(tmp_path, replace(CALM, n_unsent=1), asked)

    assert found.verdict is expected
    assert ("with what the link refused" in found.said) is (expected is NOT_SHOWN)


def test_what_was_refused_of_a_late_generator_ends_the_device_s_own_outage(tmp_path):
    # Number 14,999 is lost; the packets of the next 1 ms are late, and refused.
    gap = (150_000_000, 151_000_000)
    trial = replace(CALM, lost=(14_999,), generator_gap=gap)
    run = RunDirectory(
        make_run(tmp_path, (MadeVariant("device", "taut_forward", trial),), repetitions=1)
    )
    analyse_run(run)
    [path] = (one.packets for one in run.trials())
    rows = pq.read_table(path)
    held_up = pc.and_(pc.greater_equal(rows["due_ns"], gap[0]), pc.less(rows["due_ns"], gap[1]))
    flags = pc.if_else(held_up, int(UNSENT | VOID), pc.cast(rows["flags"], pa.int64()))
    for name in ("sent_ns", "received_ns"):
        at = rows.column_names.index(name)
        rows = rows.set_column(at, name, pc.if_else(held_up, None, rows[name]))
    at = rows.column_names.index("flags")
    pq.write_table(rows.set_column(at, "flags", pc.cast(flags, pa.uint16())), path)

    of_all, own = (
        Packets(run.trials(), 1, without_void=one).longest(10**6) for one in (False, True)
    )

    assert of_all.outage_ns == pytest.approx(1_010_000, abs=10_000)
    assert own.outage_ns == pytest.approx(10_000, abs=500)
