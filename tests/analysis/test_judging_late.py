"""Requirements judged where the generator was late with more than 1 % of a repetition's packets."""

import shutil
from dataclasses import replace

from made_calm import CALM
from made_run import MadeVariant, make_run
from taut.analysis.failing import Packets
from taut.analysis.judging import Judged, _unless_void, judge_run
from taut.analysis.proof import Verdict, chance
from taut.analysis.results import analyse_run
from taut.core.requirement import parse_requirement
from taut.records.documents.load import Device, Load
from taut.records.rundir import RunDirectory

LATE = replace(CALM, generator_gap=(100_000_000, 160_000_000))


def made(folder, trial, repetitions=2):
    return make_run(folder, (MadeVariant("device", "taut_forward", trial),), (1e5,), repetitions)


def judged(run, *texts):
    return judge_run(run, analyse_run(run), [parse_requirement(text) for text in texts])


def test_what_a_device_loses_is_a_failure_however_late_the_generator_was_elsewhere(tmp_path):
    first = RunDirectory(made(tmp_path / "run", replace(CALM, n_lost=300)))
    late = RunDirectory(made(tmp_path / "late", replace(LATE, n_lost=300)))
    (second,) = (one.path for one in late.trials() if one.meta.repetition == 2)
    shutil.rmtree(first.path / "trials" / second.name)
    shutil.move(second, first.path / "trials")

    run = RunDirectory(first.path)
    lost, *others = judged(run, "loss = 0", "loss <= 10%", "p50 < 3us", "p99.9999 < 1ms")

    assert (lost.verdict, len(lost.trials)) == (Verdict.NOT_MET, 2)
    # What it keeps, or what so few packets do not show, says nothing.
    assert [one.verdict for one in others] == [Verdict.INVALID] * 3
    assert all(one.said.startswith("the generator itself was late") for one in others)


def test_among_many_the_packets_that_were_on_time_must_show_it_too():
    of = (Device("eager"), Load(), ("000-eager-r1",), parse_requirement("p99 < 25us"))
    judged = Judged(*of, Verdict.NOT_MET, "late", 19_000, 900, None, chance=1e-9)

    both = _unless_void(judged, replace(judged, chance=0.04))

    assert (both.verdict, both.chance) == (Verdict.NOT_MET, 0.04)


def test_a_failure_that_luck_explains_says_nothing_where_the_generator_was_late(tmp_path):
    run = RunDirectory(made(tmp_path / "run", LATE, repetitions=1))
    assert analyse_run(run).variants[0].instrument_limited
    both = [Packets(run.trials(), 0, without_void=one) for one in (False, True)]

    def luck(limit_ns):
        counted = [of.failing(limit_ns, is_strict=False, with_lost=False) for of in both]
        return max(chance(one.n_eff_failed, one.n_eff, 0.5) for one in counted)

    barely = next(ns for ns in range(900, 2000) if 0.005 < luck(ns) < 0.04)

    alone = judged(run, f"p50 <= {barely}ns")
    among = judged(run, f"p50 <= {barely}ns", *(f"p50 <= {ns}ns" for ns in range(3_000, 3_020)))

    assert {one.verdict for one in alone} == {Verdict.NOT_MET}
    assert {one.verdict for one in among} == {Verdict.INVALID}
