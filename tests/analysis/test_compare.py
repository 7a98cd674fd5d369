"""Whole runs compared: a planted difference is claimed, none is not."""

import json
from dataclasses import replace

import pytest

from made_run import VARIANTS, make_run
from taut.analysis.compare import compare_runs
from taut.analysis.difference import Shown
from taut.analysis.pairing import read_analysis
from taut.records.rundir import RunDirectory

FLOOR, EAGER = VARIANTS[:2]
QUIET = replace(EAGER.trial, device_stall=None, generator_gap=None)


@pytest.fixture(scope="module")
def analysed(tmp_path_factory):
    """One device three times: as it is, 300 ns faster, and as it is once more."""
    folder = tmp_path_factory.mktemp("compare")
    runs = {}
    for name, base_ns in (("a", 900), ("faster", 600), ("same", 900)):
        trial = replace(QUIET, base_ns=base_ns)
        run = RunDirectory(
            make_run(folder / name, (FLOOR, replace(EAGER, trial=trial)), repetitions=3)
        )
        runs[name] = run, read_analysis(run)
    return runs


def eager(comparison):
    return next(pair for pair in comparison.pairs if not pair.a["is_floor"])


def test_a_planted_difference_is_claimed_in_words(analysed):
    comparison = compare_runs(analysed["a"], analysed["faster"])

    p50 = next(d for d in eager(comparison).differences if d.name == "p50")
    assert p50.shown is Shown.FASTER
    assert p50.a.value_ns - p50.b.value_ns == pytest.approx(300, abs=5)
    assert comparison.verdict.startswith("B is faster at ")
    assert "p50 (latency -29 %, 95 % interval -30..-29 %)" in comparison.verdict
    assert "p99.9999" not in comparison.verdict


def test_no_difference_is_said_so(analysed):
    assert compare_runs(analysed["a"], analysed["same"]).verdict == "No difference shown."


def test_the_floor_stands_after_the_devices_and_a_change_of_it_is_a_warning(analysed, tmp_path):
    slow = replace(FLOOR, trial=replace(FLOOR.trial, base_ns=900))
    eager_trial = replace(EAGER, trial=QUIET)
    run = RunDirectory(make_run(tmp_path / "b", (slow, eager_trial), repetitions=3))

    comparison = compare_runs(analysed["a"], (run, read_analysis(run)))

    assert [pair.label for pair in comparison.pairs] == ["eager", "floor"]
    assert any("the instrument itself changed" in w for w in comparison.warnings)


def test_losses_that_differ_are_a_warning(analysed, tmp_path):
    lossy = replace(EAGER, trial=replace(QUIET, n_lost=500))
    run = RunDirectory(make_run(tmp_path / "b", (lossy,), repetitions=1))

    warnings = compare_runs(analysed["a"], (run, read_analysis(run))).warnings

    assert any("lost 9 of 60000 in A, 500 of 20000 in B" in w for w in warnings)
    assert any("fewer than 3 repetitions" in w for w in warnings)
    assert any(w.startswith("only in A: floor") for w in warnings)


def test_without_void_leaves_void_packets_out(tmp_path):
    run = RunDirectory(make_run(tmp_path / "a", (EAGER,), repetitions=1))
    both = run, read_analysis(run)

    summaries = [eager(compare_runs(both, both, without_void=w)) for w in (False, True)]

    means = [next(d for d in p.differences if d.name == "mean").a.value_ns for p in summaries]
    row = both[1]["variants"][0]
    assert means[0] == pytest.approx(row["latency_ns"]["mean"])
    assert means[1] == pytest.approx(row["latency_without_void_ns"]["mean"])
    assert means[0] != means[1]


def test_document_is_json_and_names_every_figure(analysed):
    document = json.loads(json.dumps(compare_runs(analysed["a"], analysed["faster"]).as_json()))

    figures = {f["name"]: f for f in document["pairs"][0]["figures"]}
    assert list(figures) == [
        "min",
        "mean",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "p99.99",
        "p99.999",
        "p99.9999",
        "max",
    ]
    assert figures["p50"]["shown"] == "faster"
    assert len(figures["p50"]["a_of_repetitions_ns"]) == 3
    assert document["pairs"][0]["load"] == "100 kpkt/s, 64 B"


def test_an_analysis_is_read_back_and_made_again_when_a_trial_came(tmp_path):
    run = RunDirectory(make_run(tmp_path / "a", (EAGER,), repetitions=1))
    first = read_analysis(run)
    summary = run.path / "summary.json"
    summary.write_text(json.dumps({**json.loads(summary.read_text()), "verdict": "as written"}))
    assert read_analysis(run)["verdict"] == "as written"

    make_run(tmp_path / "more", (EAGER,), repetitions=2)
    (tmp_path / "more/trials/001-eager-bare-constant-64-100kpps-r2").rename(
        run.trials_path / "001-eager-bare-constant-64-100kpps-r2"
    )

    again = read_analysis(run)
    assert len(first["trials"]) == 1
    assert len(again["trials"]) == 2
    assert again["verdict"] != "as written"
