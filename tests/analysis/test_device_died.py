"""When a device died: after the measurement it costs its trial no number; after the warm-up all."""

import json
from dataclasses import replace
from pathlib import Path

from made_run import VARIANTS, MadeTrial, make_run
from taut.analysis.results import analyse_run
from taut.records.rundir import RunDirectory
from taut.report.run_warnings import warnings_of

DIED = "device died by signal 11 after the measurement; its counters are missing"


def test_a_device_that_died_after_the_measurement_is_one_warning(tmp_path: Path) -> None:
    run = RunDirectory(make_run(tmp_path, VARIANTS[1:2], repetitions=1))
    [path] = tmp_path.glob("trials/*/trial.json")
    document = json.loads(path.read_text())
    document["dut"]["died"] = DIED
    path.write_text(json.dumps(document))

    analysis = analyse_run(run)

    [trial] = analysis.trials
    assert trial.is_whole and trial.figures is not None and trial.figures.matched
    [warned] = warnings_of([], [(run, analysis)])
    assert warned.line == f"{DIED} (eager, 100 kpkt/s, repetition 1)."


def test_a_device_that_died_after_the_warm_up_did_return_packets(tmp_path: Path) -> None:
    made = MadeTrial(n_packets=2_000, n_cold=500, n_lost=1_500, n_duplicates=0)
    made = replace(made, device_stall=None, generator_gap=None)
    variant = replace(VARIANTS[1], trial=made)

    analysis = analyse_run(RunDirectory(make_run(tmp_path, (variant,), repetitions=1)))

    assert "eager returned no packet after the warm-up." in analysis.verdict
    assert "no packet came back after the warm-up" in analysis.trials[0].warnings
