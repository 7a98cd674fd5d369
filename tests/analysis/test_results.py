import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from made_run import VARIANTS, MadeTrial, MadeVariant, make_run
from taut.analysis.results import analyse_run
from taut.core.percentiles import PERCENTILES
from taut.records.convert import EVENT_SCHEMA
from taut.records.documents.json_form import plain
from taut.records.layout import EXTRA_RECORD, PacketFlag
from taut.records.rundir import RunDirectory

# The keys design.md promises to other programs.
PROMISED = {
    *("dut", "placement", "traffic", "frame", "offered_pps", "achieved_pps"),
    *("sent", "received", "lost", "unsent", "duplicates", "out_of_sequence", "void"),
    *("latency_ns", "latency_from_intent_ns", "jitter_ns", "floor_ns"),
}
LATENCY_KEYS = {"n", "min", "mean", "stdev", *PERCENTILES, "max"}


def document_of(run):
    """The analysis as `taut report --json` prints it."""
    return json.loads(json.dumps(plain(analyse_run(RunDirectory(run)))))


@pytest.fixture(scope="module")
def analysed(tmp_path_factory):
    run = make_run(tmp_path_factory.mktemp("run") / "run", VARIANTS, repetitions=2, failed=True)
    return run, document_of(run)


def trials_of(document, dut):
    return [t for t in document["trials"] if t["dut"] == dut and t["status"] == "whole"]


def test_results_json_has_its_format_and_the_promised_keys(analysed):
    run, _ = analysed

    results = json.loads((run / "results.json").read_text())

    assert results["format"] == 2
    for trial in results["trials"]:
        assert set(trial) >= PROMISED
        if trial["status"] == "whole":
            assert set(trial["latency_ns"]) >= LATENCY_KEYS


def test_an_analysis_loads_no_library_that_two_runs_a_side_do_not_need(analysed):
    run, _ = analysed
    code = (
        "import sys; from pathlib import Path; from taut.analysis.results import analyse_run;"
        "from taut.records.rundir import RunDirectory\n"
        f"if __name__ == '__main__': analyse_run(RunDirectory(Path({str(run)!r})));"
        "print([name for name in ('scipy.stats', 'altair', 'jinja2') if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.stdout.splitlines()[-1:] == ["[]"], done.stderr


def test_every_sum_reconciles(analysed):
    _, document = analysed

    whole = [t for t in document["trials"] if t["status"] == "whole"]
    assert whole
    assert all(t["sums_reconcile"] for t in whole), [t["sums_failures"] for t in whole]


def test_main_figures_leave_out_the_warm_up_and_keep_void(analysed):
    run, document = analysed
    trial = trials_of(document, "eager")[0]
    rows = pq.read_table(run / "trials" / trial["name"] / "packets.parquet").to_pylist()
    own = [r for r in rows if not r["flags"] & EXTRA_RECORD and r["received_ns"] is not None]
    warm = np.sort(
        [r["received_ns"] - r["sent_ns"] for r in own if not r["flags"] & PacketFlag.COLD]
    )
    valid = [r for r in own if not r["flags"] & (PacketFlag.COLD | PacketFlag.VOID)]

    assert trial["latency_ns"]["n"] == len(warm)
    assert trial["latency_ns"]["p99"] == warm[int(np.ceil(len(warm) * 0.99)) - 1]
    assert trial["latency_without_void_ns"]["n"] == len(valid) < len(warm)
    assert trial["cold_metrics"]["latency_ns"]["n"] == len(own) - len(warm)


def test_losses_and_void_are_of_the_packets_the_latencies_are_of_in_every_record_mode(tmp_path):
    gap = (2_000_000, 3_000_000)
    made = MadeTrial(n_packets=4_000, n_cold=500, n_lost=3, n_cold_lost=40, generator_gap=gap)
    run = make_run(tmp_path / "run", (MadeVariant("eager", "taut_forward", made),), repetitions=2)

    rows = []
    for record in ("all", "none"):
        for path in run.glob("trials/*/trial.json"):
            meta = json.loads(path.read_text())
            meta["traffic"]["record"] = record
            path.write_text(json.dumps(meta))
        rows.append(document_of(run)["variants"][0])

    for row in rows:
        assert (row["due"], row["sent"], row["lost"]) == (7_000, 7_000, 6)
        assert row["latency_ns"]["n"] == row["sent"] - row["lost"]
        # The gap lies in the warm-up.
        assert row["void_share"] == 0
        assert row["loss_ratio"] == 6 / 7_000
        assert (row["warm_up"]["sent"], row["warm_up"]["lost"]) == (1_000, 80)
        assert row["warm_up"]["void"] > 0
        assert row["warm_up"]["latency_ns"]["n"] == 920
        assert row["granted_ns"] == 850


def test_floor_is_the_loopback_of_the_same_link(analysed):
    _, document = analysed
    floor = next(v for v in document["variants"] if v["is_floor"])

    assert trials_of(document, "eager")[0]["floor_ns"]["p50"] == floor["latency_ns"]["p50"]
    assert trials_of(document, "linux_bridge")[0]["floor_ns"] is None


def test_repetitions_are_pooled_by_adding_packets(analysed):
    _, document = analysed
    pooled = next(v for v in document["variants"] if v["dut"] == "eager")
    each = trials_of(document, "eager")

    assert pooled["latency_ns"]["n"] == sum(t["latency_ns"]["n"] for t in each)
    assert pooled["latency_ns"]["max"] == max(t["latency_ns"]["max"] for t in each)
    assert pooled["p50_of_repetitions"] == [t["latency_ns"]["p50"] for t in each]
    assert not pooled["two_bands"]


def test_repetitions_with_medians_apart_are_told(tmp_path):
    apart = [
        MadeVariant("eager", "taut_forward", MadeTrial(n_packets=4_000, base_ns=base_ns))
        for base_ns in (900, 1_300)
    ]

    [pooled] = document_of(make_run(tmp_path / "run", tuple(apart), repetitions=1))["variants"]

    assert len(pooled["p50_of_repetitions"]) == 2
    assert pooled["two_bands"]


def test_planted_stall_is_an_episode_that_is_not_void(analysed):
    _, document = analysed

    worst = trials_of(document, "eager")[0]["episodes"]["worst"][0]

    assert worst["duration_ns"] == pytest.approx(1_000_000, rel=0.05)
    assert worst["packets"] == pytest.approx(100, abs=8)
    assert worst["void"] == "none"


@pytest.mark.parametrize("n_lost", [0, 5])
def test_frames_that_the_generators_own_port_dropped_are_told_beside_a_loss(tmp_path, n_lost):
    made = replace(VARIANTS[1], trial=MadeTrial(n_lost=n_lost))
    run = make_run(tmp_path, (made,), repetitions=1)
    [path] = tmp_path.glob("trials/*/trial.json")
    document = json.loads(path.read_text())
    document["generator"]["ports"] = [
        {"rx_missed": 7, "rx_no_mbuf": 0},
        {"rx_missed": 0, "rx_no_mbuf": 2},
    ]
    path.write_text(json.dumps(document))

    [trial] = analyse_run(RunDirectory(run)).trials

    said = "the generator's own port dropped 9 frames: the loss is not the device's alone"
    assert (said in trial.warnings) == (n_lost > 0)


def test_what_of_a_trials_state_was_not_kept_is_in_its_result(tmp_path):
    run = make_run(tmp_path, (VARIANTS[1],), repetitions=1)
    [path] = tmp_path.glob("trials/*/trial.json")
    document = json.loads(path.read_text())
    document["host"] = {"name": "trimmed", "after": {"lost": ["kernel.watchdog"]}}
    path.write_text(json.dumps(document))

    [trial] = analyse_run(RunDirectory(run)).trials

    assert (trial.is_whole, trial.not_kept) == (True, ("kernel.watchdog",))


def test_failed_trial_keeps_its_place(analysed):
    _, document = analysed

    failed = document["trials"][-1]

    assert failed["status"] == "failed"
    assert failed["latency_ns"] is None
    assert failed["failure"]["log_tail"] == ["oops"]
    assert document["n_failed"] == 1


@pytest.mark.parametrize(("n_void", "is_limited"), [(190, False), (191, True)], ids=["1 %", "more"])
def test_void_above_one_percent_is_instrument_limited(tmp_path, n_void, is_limited):
    # A packet is due every 10 us, and 19,000 after the warm-up.
    gap = (150_000_000, 150_000_000 + 10_000 * n_void)
    made = MadeTrial(base_ns=900, n_lost=0, device_stall=None, generator_gap=gap)
    run = make_run(tmp_path / "run", (MadeVariant("eager", "taut_forward", made),), repetitions=1)

    [trial] = document_of(run)["trials"]

    assert trial["void_share"] == n_void / 19_000
    assert trial["instrument_limited"] is is_limited


def test_a_percentile_decided_by_one_stall_is_at_least_something(analysed):
    _, document = analysed
    trial = next(t for t in document["trials"] if t["dut"] == "eager")
    pooled = next(row for row in document["variants"] if row["dut"] == "eager")

    for row in (trial, pooled):
        latency = row["latency_ns"]
        assert latency["n_eff"]["p99.9"] < latency["n"] / 20
        assert latency["n_eff"]["p50"] > latency["n"] / 10
        low, high = row["confidence_intervals"]["p99.9"]
        assert high is None
        assert latency["p50"] < low < latency["p99.9"]
        assert "p99.9" in row["unsupported_percentiles"]
        assert row["blocks"]["n_above"]["p99.9"] < 10 < row["blocks"]["n"]
    assert pooled["blocks"]["n"] > trial["blocks"]["n"]
    # No lost packet of 19,000 would leave 3 / 19,000 if packets were independent.
    assert pooled["loss_ratio_at_most"] > pooled["loss_ratio"] + 3 / pooled["latency_ns"]["n"]


def test_histograms_alone_give_numbers_too(tmp_path):
    run = make_run(tmp_path / "run", VARIANTS[:1], repetitions=1)
    exact = document_of(run)["trials"][0]
    for meta in run.glob("trials/*/trial.json"):
        document = json.loads(meta.read_text())
        document["traffic"]["record"] = "none"
        meta.write_text(json.dumps(document))

    analysed_again = document_of(run)
    coarse = analysed_again["trials"][0]

    for row in (coarse, analysed_again["variants"][0]):
        # Nobody knows when packets were late.
        assert row["latency_ns"]["n_eff"] is row["blocks"] is row["loss_ratio_at_most"] is None
    assert exact["latency_ns"]["n_eff"]["p99"] > 0
    assert coarse["resolution"].startswith("histogram")
    assert coarse["episodes"] is None
    assert coarse["latency_ns"]["p99.9"] == pytest.approx(exact["latency_ns"]["p99.9"], abs=1)
    assert coarse["ipdv_ns"]["n"] == 0


def test_a_traced_trial_that_got_nothing_back_is_whole_and_explains_nothing(tmp_path):
    nothing_back = MadeTrial(n_packets=2_000, n_cold=100, n_lost=1_900, n_duplicates=0)
    run = make_run(tmp_path / "run", [MadeVariant("sink", "command", nothing_back)], repetitions=1)
    for trial in run.glob("trials/*"):
        pq.write_table(EVENT_SCHEMA.empty_table(), trial / "events.parquet")

    [result] = document_of(run)["trials"]

    assert result["status"] == "whole"
    assert result["latency_ns"]["n"] == 0
    assert "explanation" not in result


def test_an_explanation_is_of_all_packets_or_there_is_none(tmp_path):
    run = make_run(tmp_path / "run", VARIANTS[:1], repetitions=1)
    [trial] = run.glob("trials/*")
    pq.write_table(EVENT_SCHEMA.empty_table(), trial / "events.parquet")
    whole = document_of(run)["trials"][0]
    document = json.loads((trial / "trial.json").read_text())
    document["traffic"]["record"] = "tail"
    (trial / "trial.json").write_text(json.dumps(document))

    slowest_alone = document_of(run)["trials"][0]

    assert whole["explanation"]["calibration"]["empty_gaps"] >= 0
    assert "explanation" not in slowest_alone
