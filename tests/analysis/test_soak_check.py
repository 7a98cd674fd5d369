"""Soaks that are checked afterwards: what was measured counts, not what was planned."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from made_soak import SECOND_NS, row
from made_soak_run import make_soak_run, write_segment
from taut.analysis.judging import Judged
from taut.analysis.proof import Verdict
from taut.analysis.results import analyse_run
from taut.analysis.soak import soak_document
from taut.analysis.soak_check import is_soak, judge_soak
from taut.core.errors import InputError
from taut.core.files import write_json
from taut.core.requirement import parse_requirement
from taut.experiment.plan import make_plan
from taut.experiment.soak import plan_soak
from taut.experiment.spec import parse_spec
from taut.records.documents.json_form import plain_object
from taut.records.documents.soak import SOAK_FILE
from taut.records.rundir import RunDirectory

CLEAN = {"1000000": 0}
"""No packet of a row took longer than 1 ms; of 20 us rows say nothing."""


def judged(run: RunDirectory, *rules: str, without_void: bool = False) -> list[Judged]:
    asked = [parse_requirement(rule) for rule in rules]
    return judge_soak(run, analyse_run(run), asked, without_void=without_void)


def test_what_was_measured_counts_and_not_what_was_planned(tmp_path: Path) -> None:
    run = RunDirectory(make_soak_run(tmp_path / "run", [row(n, above=CLEAN) for n in range(2)]))

    found = judged(run, "max < 20us for 12h", "max < 20us for 10min", "max < 1ms for 12h")

    assert is_soak(run)
    assert [one.verdict for one in found] == [Verdict.NOT_SHOWN, Verdict.MET, Verdict.NOT_SHOWN]
    assert "600 s of 43200 s were measured" in found[0].said
    assert "600 s of 43200 s were measured" in found[2].said
    assert found[0].called == found[2].called == "eager, 100 kpkt/s, 64 B"


@pytest.mark.parametrize("rule", ["max < 1ms", "p99 < 1ms"])
def test_of_a_device_that_returns_nothing_no_latency_passes(tmp_path: Path, rule: str) -> None:
    run = RunDirectory(make_soak_run(tmp_path / "run", [row(lost=1_000, above=CLEAN)]))

    [found] = judged(run, rule)

    assert found.verdict is Verdict.NOT_SHOWN
    assert found.said == "no packet that the generator did not hold up came back"


def test_the_rows_of_a_killed_segment_count_and_its_records_are_missed(tmp_path: Path) -> None:
    slow = [row(0, above={"1000000": 3})]
    run = RunDirectory(make_soak_run(tmp_path / "run", [row(above=CLEAN)], killed=slow))

    by_rows, by_records, no_loss = judged(run, "max < 1ms", "max < 20us", "loss = 0")

    assert by_rows.verdict is Verdict.NOT_MET
    assert by_rows.said.startswith("3 of 2,000 packets")
    assert (by_records.verdict, by_records.said) == (Verdict.INVALID, "1 of 2 trials failed")
    assert no_loss.verdict is Verdict.MET
    assert len(by_rows.trials) == 2


def test_a_soak_that_was_killed_in_its_first_segment_is_judged_by_its_rows(tmp_path: Path) -> None:
    run = RunDirectory(make_soak_run(tmp_path / "run", [row(above={"1000000": 3})]))
    shutil.rmtree(run.trials_path)

    by_rows, by_records, no_loss = judged(run, "max < 1ms", "max < 20us", "loss = 0")

    assert by_rows.verdict is Verdict.NOT_MET
    assert (by_rows.called, len(by_rows.trials)) == ("eager", 1)
    assert (by_records.verdict, by_records.said) == (Verdict.INVALID, "1 of 1 trials failed")
    assert no_loss.verdict is Verdict.MET


def test_what_the_generator_held_up_is_left_out_where_that_is_asked(tmp_path: Path) -> None:
    run = RunDirectory(make_soak_run(tmp_path / "run", [row(void=50, above=CLEAN)]))

    [with_void] = judged(run, "max < 1ms")
    [without_void] = judged(run, "max < 1ms", without_void=True)

    assert (with_void.verdict, without_void.verdict) == (Verdict.INVALID, Verdict.MET)


@pytest.mark.parametrize("without_void", [False, True])
@pytest.mark.parametrize(("n_void", "expected"), [(5, Verdict.MET), (4, Verdict.NOT_SHOWN)])
def test_what_was_refused_of_a_late_generator_is_no_refusal(
    tmp_path: Path, without_void: bool, n_void: int, expected: Verdict
) -> None:
    one = row(above=CLEAN)
    late = replace(one, counters={**one.counters, "due": 1_005, "unsent": 5, "void": n_void})
    run = RunDirectory(make_soak_run(tmp_path / "run", [late]))

    [found] = judged(run, "loss = 0", without_void=without_void)

    assert found.verdict is expected


@pytest.mark.parametrize(("n_refused", "expected"), [(0, Verdict.MET), (3, Verdict.NOT_SHOWN)])
def test_what_is_counted_between_a_row_s_counters_and_its_latencies_evens_out(
    tmp_path: Path, n_refused: int, expected: Verdict
) -> None:
    # Of 20 void packets all came back, 13 of them in the latencies of the first row.
    first, second = row(void=13, above=CLEAN), row(1, void=7, above=CLEAN)
    counters = [{**one.counters, "void": 10} for one in (first, second)]
    counters[1] = {**counters[1], "due": 1_000 + n_refused, "unsent": n_refused}
    rows = [replace(one, counters=of) for one, of in zip((first, second), counters, strict=True)]
    run = RunDirectory(make_soak_run(tmp_path / "run", rows))

    [found] = judged(run, "loss = 0", without_void=True)

    assert found.verdict is expected


def test_a_control_is_not_checked_in_the_place_of_the_device(tmp_path: Path) -> None:
    run = RunDirectory(make_soak_run(tmp_path / "run", []))
    write_segment(run.path, "002-control", [row(above=CLEAN)], is_control=True)

    with pytest.raises(InputError, match="the device's first row is missing"):
        judged(run, "max < 1ms")


SPEC = """
name = "soak"
duration = "10s"
require = ["loss < 1%"]
[[device]]
driver = "taut_forward"
name = "eager"
[[traffic]]
rates = ["100kpps"]
"""


def test_more_failures_than_may_of_all_that_was_planned_fail_as_they_do_in_the_soak(
    tmp_path: Path,
) -> None:
    # A link that was down for one row of twelve, an hour of 360,000,000 packets: one clump.
    per_row = 30_000_000
    rows = [row(n, sent=per_row, lost=per_row * (n == 11)) for n in range(12)]
    run = RunDirectory(make_soak_run(tmp_path / "run", rows))
    soak = plan_soak(make_plan(parse_spec(SPEC)), 3_600 * SECOND_NS)
    document = soak_document(run, soak, None)
    assert document is not None

    [killed] = judged(run, "loss < 1%")
    write_json(run.path / SOAK_FILE, plain_object(document))
    [found] = judged(run, "loss < 1%")

    [of_soak] = document.verdicts
    assert (found.verdict.value, found.said) == (of_soak.verdict, of_soak.said)
    assert found.verdict is Verdict.NOT_MET
    assert killed.verdict is Verdict.NOT_SHOWN
