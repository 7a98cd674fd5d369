import json

import pyarrow.parquet as pq
import pytest

from made_run import VARIANTS, make_run
from made_trace import HOG, POLLER, PREEMPTED, MadeTrace, gap_rows, write_trace
from taut.analysis.load import loads_in_order
from taut.analysis.results import analyse_run
from taut.records.rundir import RunDirectory
from taut.report.scene import make_scenes

STALL = (100_000_000, 101_000_000)
GENERATOR_GAP = (150_000_000, 150_200_000)
"""As made_run plants them."""

TICKS_AT = range(210_000_000, 410_000_000, 10_000_000)
"""Interrupts of the local timer on the device's core, in the trial that is traced."""

STATES = {"R24": "FAIL", "K04": "PASS", "R22": "NOT_APPLICABLE", "HW01": "UNKNOWN"}


@pytest.fixture(scope="session")
def analysed(tmp_path_factory):
    """Two rates, two repetitions, four devices, one failed trial, one traced, an audit."""
    path = make_run(
        tmp_path_factory.mktemp("report") / "run",
        VARIANTS,
        rates_pps=(100_000.0, 200_000.0),
        repetitions=2,
        failed=True,
    )
    _trace(next((path / "trials").glob("*-eager-*-100kpps-r1")))
    _audit(path)
    run = RunDirectory(path)
    return run, analyse_run(run)


@pytest.fixture(scope="session")
def scene(analysed):
    return make_scenes([analysed], loads_in_order(analysed[1].variants))[0]


def _trace(trial):
    """Another thread had the device's core during its stall."""
    start, end = STALL
    trace = MadeTrace().switch(start + 100, POLLER, HOG, PREEMPTED).switch(end - 100, HOG, POLLER)
    for at in TICKS_AT:
        trace.vector(at, at + 900)
    write_trace(trial, trace)
    meta = json.loads((trial / "trial.json").read_text())
    (trial / "trial.json").write_text(json.dumps(meta | {"trace": {"mode": "continuous"}}))
    gaps = gap_rows((*STALL, "forwarder"), (*GENERATOR_GAP, "generator"))
    pq.write_table(gaps, trial / "gaps.parquet")


def _audit(path):
    manifest = json.loads((path / "manifest.json").read_text())
    states = list(STATES.values())
    manifest["audit"] = {
        "role": "poll-core",
        "cores": "0-1",
        "counts": {state: states.count(state) for state in set(states)},
        "checks": [
            {
                "id": check,
                "title": f"title of {check}",
                "state": state,
                "severity": "major",
                "observed": "",
                "wanted": "",
                "needs": "",
                "why": "",
                "remedies": [],
            }
            for check, state in STATES.items()
        ],
    }
    (path / "manifest.json").write_text(json.dumps(manifest))
