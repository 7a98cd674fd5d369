"""A device that died after the measurement costs its trial no number, and is told as a warning."""

import json
from pathlib import Path

from made_run import VARIANTS, make_run
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
