"""What no device can do, on every device: one that stands still lets no packet out.

Nor can what the generator was late with be the device's.
"""

from pathlib import Path

import numpy as np
import pytest

from acceptance_run import Run, run_taut
from taut.explain import Options, explain_trial
from taut.records import parquet
from taut.records.documents.generator import GapCounters, GeneratorResult
from taut.records.layout import PacketFlag
from taut.records.rundir import RunDirectory
from verdicts import EVERY, passed_in, stalls_of

pytestmark = [pytest.mark.acceptance, pytest.mark.root, pytest.mark.long, pytest.mark.timing]

N_IN_A_ROW = 4
"""Stalls that are no gap add up to less, in lengths of the longest (seen in 150 trials: 1.2)."""

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


def test_what_the_generator_sent_late_is_void(run: Run) -> None:
    """But for what no gap shows: a stall below the threshold, or that passed as work."""
    late_ns, hidden_ns = {}, {}
    for trial in RunDirectory(run.path).trials():
        if not trial.is_whole:
            continue
        gaps = (trial.meta.generator or GeneratorResult()).gaps or GapCounters()
        late_ns[trial.name] = late_of_its_own(trial.packets, gaps.per_packet_ns)
        hidden_ns[trial.name] = (gaps.longest_granted_ns or 0) + (gaps.threshold_ns or 0)

    assert late_ns
    assert {n: late for n, late in late_ns.items() if late > N_IN_A_ROW * hidden_ns[n]} == {}


def late_of_its_own(packets: Path, per_packet_ns: int) -> int:
    """How late the generator sent a packet that is not void, beyond what its work was granted.

    Of what queued in a device that stood it may take for long, on a slow machine longer than
    packets are apart: each is granted twice, when it is taken and when it is accounted for.
    """
    rows = parquet.read_table(packets, columns=["due_ns", "sent_ns", "received_ns", "flags"])
    received_ns = np.sort(rows["received_ns"].drop_null().to_numpy())
    rows = rows.filter(rows["sent_ns"].is_valid())
    due_ns, sent_ns = rows["due_ns"].to_numpy(), rows["sent_ns"].to_numpy()
    n_handled = sum(
        np.searchsorted(times, sent_ns, "right") - np.searchsorted(times, due_ns)
        for times in (np.sort(sent_ns), received_ns)
    )
    late_ns = sent_ns - due_ns - 2 * per_packet_ns * n_handled
    is_void = rows["flags"].to_numpy() & PacketFlag.VOID > 0
    return int(late_ns[~is_void].max(initial=0))
