"""Acceptance 2 of the veto, on every device: who stands still lets no packet out."""

from pathlib import Path

import numpy as np
import pytest

from acceptance_run import Run, Trial, run_taut
from taut.explain import Explanation, Options, explain_trial
from taut.records.documents.trial import WHOLE

pytestmark = [pytest.mark.acceptance, pytest.mark.root, pytest.mark.long, pytest.mark.timing]

EXAMPLES = Path(__file__).parents[2] / "examples"
EDGE_NS = 20_000
"""A stall begins and ends inside an iteration; a packet so far from its ends was not in hand."""
BURST_NS = 1_000
"""What one iteration sends leaves in one go, so much between two packets at most."""


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
    whole = [trial for trial in run.trials if trial.meta["status"] == WHOLE]
    stalls = {
        trial.path.name: stalls_of(explain_trial(trial.path, Options(over="p99", n_worst=10**9)))
        for trial in whole
    }

    # On a loaded machine one trial may fail; not both of a device.
    devices = {trial.meta["dut"]["name"] for trial in run.trials}
    assert {trial.meta["dut"]["name"] for trial in whole} == devices, run.stderr[-3000:]
    assert sum(map(len, stalls.values())) > 0
    passed = {trial.path.name: passed_in(trial, stalls[trial.path.name]) for trial in whole}
    assert {name: found for name, found in passed.items() if found} == {}


def stalls_of(found: Explanation) -> set[tuple[str, int, int]]:
    """The stalls of a device that late packets are blamed on: whose it was, from when to when."""
    gaps = [story.gap for story in found.worst if story.gap is not None]
    return {(gap.thread, gap.start_ns, gap.end_ns) for gap in gaps if gap.thread != "generator"}


def passed_in(trial: Trial, stalls: set[tuple[str, int, int]]) -> dict[tuple[str, int, int], int]:
    """How many packets went in and came out in each stall in which several bursts did.

    One burst can: an iteration that is held up before it takes packets, and again when it has sent
    them, is one gap of the log.
    """
    sent, received = (trial.packets[name] for name in ("sent_ns", "received_ns"))
    counts = {}
    for thread, start, end in stalls:
        came = np.sort(received[(sent > start + EDGE_NS) & (received < end - EDGE_NS)])
        if np.any(np.diff(came) > BURST_NS):
            counts[thread, start, end] = len(came)
    return counts
