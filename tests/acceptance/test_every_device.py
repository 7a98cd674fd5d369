"""Acceptance 2 of the veto, on every device: who stands still lets no packet out."""

from pathlib import Path

import pytest

from acceptance_run import Run, run_taut
from taut.explain import Options, explain_trial
from taut.records.rundir import RunDirectory
from verdicts import EVERY, passed_in, stalls_of

pytestmark = [pytest.mark.acceptance, pytest.mark.root, pytest.mark.long, pytest.mark.timing]

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module", params=["every-device", "other-devices"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Every device of an example, each load once and for half a second."""
    folder = tmp_path_factory.mktemp("every-device")
    for name in ("router", "firewall", "inspection"):
        (folder / name).symlink_to(EXAMPLES / name)
    short = ["repetitions=1", "duration=500ms", "warm_up=200ms", "floor=false"]
    words = [word for value in short for word in ("--set", value)]
    spec = (EXAMPLES / f"{request.param}.toml").read_text()
    found = run_taut(folder, spec, "--trace", "continuous", *words)
    if found.status == 2 and ("trace" in found.stderr or "program not found" in found.stderr):
        pytest.skip(found.stderr.strip())
    return found


def test_no_packet_passes_a_device_while_it_is_said_to_stand_still(run: Run) -> None:
    trials = RunDirectory(run.path).trials()
    whole = [trial for trial in trials if trial.is_whole]
    stalls = {
        trial.name: stalls_of(explain_trial(trial.path, Options(over="p99", n_worst=EVERY)))
        for trial in whole
    }

    # On a loaded machine one trial may fail; not both of a device.
    devices = {trial.meta.dut.name for trial in trials}
    assert {trial.meta.dut.name for trial in whole} == devices, run.stderr[-3000:]
    assert sum(map(len, stalls.values())) > 0
    passed = {trial.name: passed_in(trial, stalls[trial.name]) for trial in whole}
    assert {name: found for name, found in passed.items() if found} == {}
