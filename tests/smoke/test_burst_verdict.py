"""A burst of packets: those behind the first wait in a queue, and explain says so.

taut inject has no such cause: when packets leave is the generator's schedule.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from acceptance_run import TAUT

pytestmark = pytest.mark.smoke

# Trains of 64 back to back, 300 a second: the last of each wait for those before them.
TOO_SLOW_NS = 200_000  # a train passes in a tenth of that
SPEC = """
name = "trains"
duration = "2s"
warm_up = "200ms"
floor = false
[[device]]
driver = "taut_forward"
link = "memif"
[[traffic]]
rates = ["20kpps"]
schedule = "burst"
options = { size = 64 }
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
@pytest.mark.flaky(reruns=1)
def test_packets_behind_the_first_of_a_train_are_late_by_queueing_in_a_burst(tmp_path: Path):
    spec, out = tmp_path / "trains.toml", tmp_path / "run"
    spec.write_text(SPEC)
    done = subprocess.run(
        [*TAUT, "run", str(spec), "--out", str(out), "--json"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr

    done = subprocess.run(
        [*TAUT, "explain", str(out), "--over", "p90", "--json"], capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    [found] = json.loads(done.stdout)["trials"]
    if found["p50_ns"] > TOO_SLOW_NS:
        pytest.skip(f"too noisy: half of the packets take {found['p50_ns'] / 1e6:.1f} ms")
    causes = {cause["cause"]: cause for cause in found["causes"]}
    assert causes["queueing"]["tail_share"] > 0.5, causes
    told = [story["line"] for story in found["worst"] if story["cause"] == "queueing"]
    assert all("burst" in line for line in told), told
