"""Acceptance 2 and 3: batching shows, sums come out, error bars are true."""

from pathlib import Path

import numpy as np
import pytest

from acceptance_run import VOID, Run, passed, run_taut

pytestmark = pytest.mark.acceptance

HEAD = 'name = "acceptance"\nduration = "3s"\nwarm_up = "500ms"\ndeadline = "200ms"\n'
FORWARDERS = """
[[device]]
driver = "taut_forward"
name = "eager"
[[device]]
driver = "taut_forward"
name = "buffered"
options = { transmit = "buffered:32,100us" }
"""


def test_2_waiting_for_a_batch_costs_ten_times_the_median(tmp_path: Path):
    load = '[[traffic]]\nrates = ["100kpps"]\n'

    run = passed(run_taut(tmp_path, HEAD + FORWARDERS + load))

    buffered, eager = (run.result(name)["latency_ns"]["p50"] for name in ("buffered", "eager"))
    assert buffered >= 10 * eager
    assert all(result["sums_reconcile"] for result in run.results)


@pytest.mark.parametrize(
    "load",
    [
        'schedule = "poisson"\nrates = ["50kpps"]\nboth = true\nflows = 5\nframes = ["imix"]',
        'schedule = "burst"\nrates = ["100kpps"]\noptions = { size = 64 }\nframes = [64, 1500]',
        'schedule = "jittered"\nrates = ["300Mbps"]\nframes = [256]\nrate_layer = "l1"',
        'rates = ["20Mpps"]\nduration = "500ms"',
    ],
    ids=["poisson-both-imix", "burst", "jittered-bits", "overload"],
)
def test_2_sums_come_out_under_every_load(tmp_path: Path, load: str):
    spec = HEAD + FORWARDERS + f"[[traffic]]\n{load}\n"

    run = passed(run_taut(tmp_path, spec, "--set", "duration=1s" if "ms" not in load else "seed=1"))

    for result in run.results:
        assert result["sums_failures"] == [], result["name"]
        assert result["due"] == result["sent"] + result["unsent"]
        assert result["sent"] == result["matched"] + result["lost"]


ATTEMPTS = 3
"""A virtual machine has two bands of latency between its cores, 0.3 and 1.3 us on the one this was
written on, and moves between them. A pair of trials in different bands says nothing of the delay;
an instrument that is wrong by more than its error bar is so in every pair."""


@pytest.mark.parametrize("set_us", [10, 50, 200])
def test_3_a_known_delay_is_measured_within_its_error_bar(tmp_path: Path, set_us: int):
    seen = []
    for attempt in range(ATTEMPTS):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        share, error_ns = share_within_error_bar(folder, set_us)
        seen.append(f"{share:.4f} within, median error {error_ns:.0f} ns")
        if share >= 0.99:
            return
    pytest.fail("; ".join(seen))


def share_within_error_bar(folder: Path, set_us: int) -> tuple[float, float]:
    """Measure one pair of trials: the share within arrival window and spread, the median error."""
    devices = "".join(
        f'[[device]]\ndriver = "taut_forward"\nname = "delay{us}"\n'
        f'options = {{ nf = ["delay:time={us}us"] }}\n'
        for us in (0, set_us)
    )
    spec = HEAD + "floor = false\n" + devices + '[[traffic]]\nrates = ["100kpps"]\n'
    run = passed(run_taut(folder, spec))
    none_ns, _ = latency_of_fair_packets(run, "delay0")
    measured_ns, window_ns = latency_of_fair_packets(run, f"delay{set_us}")
    error_ns = np.abs(measured_ns - np.median(none_ns) - set_us * 1000)
    # A path that varies by more than 0.2 us without any delay cannot be held to less with one.
    spread_ns = max(200.0, float(np.percentile(none_ns, 99) - np.median(none_ns)))
    return float((error_ns <= window_ns + spread_ns).mean()), float(np.median(error_ns))


def latency_of_fair_packets(run: Run, dut: str) -> tuple[np.ndarray, np.ndarray]:
    """Latency and arrival window of the packets that no logged stall touched."""
    latency, window = [], []
    for trial in run.trials:
        if trial.meta["dut"]["name"] == dut:
            packets = trial.packets
            touched = trial.touched_by_gap("forwarder") | (packets["flags"] & VOID != 0)
            latency.append((packets["received_ns"] - packets["sent_ns"])[~touched])
            window.append(packets["arrival_window_ns"][~touched])
    if sum(map(len, latency)) <= 1000:
        pytest.skip(f"too noisy: hardly a packet of {dut} is free of stalls")
    return np.concatenate(latency), np.concatenate(window)
