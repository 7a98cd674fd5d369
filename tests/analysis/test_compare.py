"""Whole runs compared: a planted difference is claimed, none is not."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from made_documents import made_analysis, made_result, made_variant
from made_run import VARIANTS, make_run
from taut.analysis.compare import Comparison, compare_runs
from taut.analysis.difference import Shown
from taut.analysis.pairing import read_analysis
from taut.analysis.statistics import summary_of
from taut.records.documents.json_form import plain
from taut.records.documents.results import WITHOUT_VOID
from taut.records.rundir import RunDirectory
from taut.report.comparison import row_of

EAGER = VARIANTS[1]
REPETITIONS = 6


def simulated(rng, repetitions, shift=0.0, floor_shift=None, **changes):
    """A run as it comes from a machine: runs spread by half a percent, and stalls make tails clump.

    `shift` is the logarithm of its latency over that of other runs; a floor only where it is given.
    """
    floor = {"dut": "loopback", "is_floor": True, "driver": "loopback"}
    shifts = {"eager": ({}, shift)} | ({} if floor_shift is None else {"f": (floor, floor_shift)})
    variants, trials = [], []
    for name, (identity, of) in shifts.items():
        mine = [_trial(rng, f"{name}-{n}", of) for n in range(repetitions)]
        row = _row([t.name for t in mine]) | identity
        variants.append(row if row["is_floor"] else row | changes)
        trials += mine
    made = [made_variant(**row) for row in variants]
    return RunDirectory(Path("simulated")), made_analysis(trials, made)


def _trial(rng, name, shift):
    # Now and then a run lies in a slow band; stalls are of half a millisecond on average.
    middle = 3_000 * np.exp(rng.normal(shift, 0.005) + 0.1 * (rng.uniform() < 0.1))
    values = middle + rng.gamma(2.0, 100.0, 10_000)
    for start in rng.integers(0, 9_900, rng.poisson(3)):
        length = min(1 + int(rng.exponential(50)), 100)
        values[start : start + length] += np.linspace(10_000 * length, 0, length)
    packets = np.sort(values.astype(np.int64))
    summary = summary_of(packets, np.ones(len(packets), np.int64), intervals=False)
    return made_result(
        name=name,
        latency_ns=plain(summary.figures()),
        unsupported_percentiles=summary.unsupported(),
    )


def _row(trials):
    return {
        "dut": "eager",
        "driver": "taut_forward",
        "is_floor": False,
        "link": "memif",
        "placement": "bare",
        "path": "simulated",
        "host": "as found",
        "traffic": "constant",
        "schedule": "constant",
        "frame": "64",
        "both": False,
        "asked_pps": 10_000.0,
        "achieved_pps": 10_000.0,
        "latency_ns": {"n": 10_000 * len(trials)},
        "trials": trials,
        "sent": 10_000 * len(trials),
        "lost": 0,
        "void_share": 0.0,
        "instrument_limited": False,
        "two_bands": False,
    }


@pytest.fixture(scope="module")
def runs():
    """One device three times: as it is, a third faster, and as it is once more."""
    rng = np.random.default_rng(7)
    return {
        name: simulated(rng, REPETITIONS, shift, floor_shift=-1.0)
        for name, shift in (("a", 0.0), ("faster", -0.4), ("same", 0.0))
    }


def eager(comparison):
    return next(pair for pair in comparison.pairs if not pair.a.is_floor)


def test_a_planted_difference_is_claimed_in_words(runs):
    comparison = compare_runs(runs["a"], runs["faster"])

    p50 = next(d for d in eager(comparison).differences if d.name == "p50")
    assert p50.shown is Shown.FASTER
    assert p50.a.value_ns - p50.b.value_ns == pytest.approx(1_000, abs=50)
    assert p50.evidence.n_runs == (REPETITIONS, REPETITIONS)
    assert comparison.verdict.startswith("B is faster at ")
    assert "p50 (latency -31 %, 95 % interval -3" in comparison.verdict
    assert "p99.9999" not in comparison.verdict


def test_a_pair_names_the_states_of_the_host_unless_both_are_as_found(runs):
    pair = eager(compare_runs(runs["a"], runs["same"]))
    trimmed = replace(pair, b=replace(pair.b, device=replace(pair.b.device, host="trimmed")))

    assert pair.label == "eager"
    assert trimmed.label == "eager, as found → eager, trimmed"
    assert replace(trimmed, a=trimmed.b).label == "eager, trimmed"


def test_no_difference_is_said_so(runs):
    assert compare_runs(runs["a"], runs["same"]).verdict == "No difference shown."


def test_what_cannot_be_judged_is_not_said_to_be_no_difference(runs):
    claimed, same = (eager(compare_runs(runs["a"], runs[name])) for name in ("faster", "same"))
    once = eager(compare_runs(*[simulated(np.random.default_rng(9), 1)] * 2))

    def said(*pairs):
        return (
            Comparison(pairs, []).verdict.split("eager at 10 kpkt/s, 64 B: ")[-1].split(". ")[-2:]
        )

    assert said(same, same) == ["No difference shown in 2 comparisons."]
    assert said(same, once) == [
        "No difference shown in 1 comparison",
        "Of 1 more nothing can be said: too few runs or packets, or losses differ.",
    ]
    assert said(claimed, same)[-1] == "No difference shown in the other."
    assert said(claimed, once, once)[-1] == (
        "Of the other 2 nothing can be said: too few runs or packets, or losses differ."
    )
    assert Comparison([once, once], []).verdict == "Nothing is claimed of one run each."


def test_the_floor_stands_after_the_devices_and_a_change_of_it_is_a_warning(runs):
    slow = simulated(np.random.default_rng(8), REPETITIONS, floor_shift=-0.5)

    comparison = compare_runs(runs["a"], slow)

    assert [pair.label for pair in comparison.pairs] == ["eager", "floor"]
    assert any("the instrument itself changed" in w for w in comparison.warnings)


def test_losses_that_differ_are_a_warning(runs):
    lossy = simulated(np.random.default_rng(9), 1, lost=500)

    warnings = compare_runs(runs["a"], lossy).warnings

    assert any("lost 0 of 60000 in A, 500 of 10000 in B" in w for w in warnings)
    assert any("a claim is made from repeated runs" in w for w in warnings)
    assert any(w.startswith("only in A: floor") for w in warnings)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sums_reconcile": False}, "the sums of B do not come out: do not use its numbers"),
        (
            {"instrument_limited": True, "void_share": 0.003},
            "the generator itself was late in a repetition with over 1 % of the packets of B, "
            "0.3 % in all",
        ),
        (
            {"rate_ok": False, "offered_pps": 10_000.0, "achieved_pps": 6_000.0, "unsent": 24_000},
            "the rate of B was not what was asked: 60 % of it, 24,000 packets unsent",
        ),
    ],
)
def test_what_weakens_one_side_is_a_warning(runs, changes, said):
    weak = simulated(np.random.default_rng(9), REPETITIONS, **changes)

    assert f"eager at 10 kpkt/s, 64 B: {said}" in compare_runs(runs["a"], weak).warnings


def test_repetitions_that_failed_are_a_warning(runs):
    run, of = runs["same"]
    identity = {"driver": "taut_forward", "link": "memif", "asked_pps": 10_000.0}
    failed = made_result(name="failed", status="failed", sent=None, **identity)

    warnings = compare_runs(runs["a"], (run, replace(of, trials=(*of.trials, failed)))).warnings

    assert "eager at 10 kpkt/s, 64 B: 1 of 7 trials failed in B" in warnings


def test_nothing_is_claimed_of_sums_that_do_not_come_out(runs):
    run, of = runs["faster"]
    rows = [replace(row, sums_reconcile=False) for row in of.variants]

    comparison = compare_runs(runs["a"], (run, replace(of, variants=tuple(rows))))

    said = "do not trust these numbers: the sums of B do not come out"
    assert comparison.verdict == "Do not trust these numbers: the sums of B do not come out."
    pair = eager(comparison)
    assert {found.shown for found in pair.differences} == {Shown.BROKEN}
    assert {figure.shown for figure in pair.document().figures} == {"sums do not come out"}
    assert [cell.text for cell in row_of(pair.differences[0])][-1] == "sums do not come out"
    assert Comparison([pair, pair], []).verdict == " ".join(
        [f"eager at 10 kpkt/s, 64 B: {said}."] * 2
    )
    assert not any("the instrument itself changed" in word for word in comparison.warnings)


def test_a_device_without_a_latency_in_one_run_is_in_the_verdict(runs):
    (run_a, a), (run_b, b) = runs["a"], runs["same"]
    whole = _row([]) | {"asked_pps": 20_000.0, "latency_ns": {"n": 10_000}}
    silent = whole | {"latency_ns": {"n": 0}, "warm_up": {"matched": 0}}
    sides = [
        (run, replace(of, variants=(*of.variants, made_variant(**row))))
        for run, of, row in ((run_a, a, whole), (run_b, b, silent))
    ]

    comparison = compare_runs(*sides)

    assert comparison.verdict == (
        "No difference shown in 1 comparison. "
        "1 more is not compared: no packet came back, or every trial failed."
    )
    assert comparison.warnings[0] == "eager at 20 kpkt/s, 64 B: no packet came back in B"


def test_without_void_leaves_void_packets_out(tmp_path):
    run = RunDirectory(make_run(tmp_path / "a", (EAGER,), repetitions=1))
    both = run, read_analysis(run)

    summaries = [eager(compare_runs(both, both, without_void=w)) for w in (False, True)]

    means = [next(d for d in p.differences if d.name == "mean").a.value_ns for p in summaries]
    row = both[1].variants[0]
    assert means[0] == pytest.approx(row.latency.mean_ns)
    assert means[1] == pytest.approx(row.metrics.latency(WITHOUT_VOID).mean_ns)
    assert means[0] != means[1]


def test_document_is_json_and_names_every_figure(runs):
    document = json.loads(
        json.dumps(plain([p.document() for p in compare_runs(runs["a"], runs["faster"]).pairs]))
    )

    figures = {f["name"]: f for f in document[0]["figures"]}
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
    assert len(figures["p50"]["a_of_repetitions_ns"]) == REPETITIONS
    assert document[0]["load"] == "10 kpkt/s, 64 B"


def test_an_analysis_is_read_back_and_made_again_when_a_trial_came(tmp_path):
    run = RunDirectory(make_run(tmp_path / "a", (EAGER,), repetitions=1))
    first = read_analysis(run)
    summary = run.path / "summary.json"
    summary.write_text(json.dumps({**json.loads(summary.read_text()), "verdict": "as written"}))
    assert read_analysis(run).verdict == "as written"

    make_run(tmp_path / "more", (EAGER,), repetitions=2)
    (tmp_path / "more/trials/001-eager-bare-constant-64-100kpps-r2").rename(
        run.trials_path / "001-eager-bare-constant-64-100kpps-r2"
    )

    again = read_analysis(run)
    assert len(first.trials) == 1
    assert len(again.trials) == 2
    assert again.verdict != "as written"


@pytest.mark.parametrize(("repetitions", "most_tables"), [(1, 0), (3, 0), (5, 4)])
def test_two_runs_of_one_device_claim_nothing(repetitions, most_tables):
    """Forty pairs: none claims anything of one repetition, at most four tables of five."""
    rng = np.random.default_rng(11)

    claimed = 0
    for _ in range(40):
        a, b = simulated(rng, repetitions), simulated(rng, repetitions)
        claimed += any(pair.is_claimed for pair in compare_runs(a, b).pairs)

    assert claimed <= most_tables


def test_a_real_difference_is_claimed_of_enough_repetitions():
    rng = np.random.default_rng(12)

    found = [compare_runs(simulated(rng, 8), simulated(rng, 8, shift=0.5)) for _ in range(10)]

    assert all("p50 (latency +" in c.verdict for c in found)
    assert all(c.verdict.startswith("B is slower at ") for c in found)


def test_one_run_each_says_so_and_what_a_claim_would_take():
    rng = np.random.default_rng(13)

    found = compare_runs(simulated(rng, 1), simulated(rng, 1, shift=1.0))

    assert found.verdict == "Nothing is claimed of one run each."
    (warning,) = found.warnings
    assert warning.endswith(
        "where one of these 5 figures differs, 6 repetitions a side can show it; where all do, 5"
    )


def test_repetitions_of_too_few_packets_are_to_be_longer_not_more():
    rng = np.random.default_rng(14)
    a, (run, of) = simulated(rng, 10), simulated(rng, 10)
    trials = (*of.trials[:3], *(_of_few_packets(trial) for trial in of.trials[3:]))

    found = compare_runs(a, (run, replace(of, trials=trials)))

    assert eager(found).shown(Shown.TOO_FEW_RUNS)[0].name == "p99.9"
    (warning,) = found.warnings
    assert warning == (
        "eager at 10 kpkt/s, 64 B: too few repetitions have enough packets (p99.9: 3 of 10 in B): "
        "measure longer"
    )


def _of_few_packets(trial):
    figures = trial.measured
    latency = replace(trial.latency(), n=9_000)
    metrics = replace(figures.metrics, all_packets={"latency": latency})
    return replace(trial, figures=replace(figures, metrics=metrics))
