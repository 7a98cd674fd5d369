"""`trace = true`: kernel events lie beside the packets, on their clock."""

import json
import subprocess
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from acceptance_run import TAUT

pytestmark = [pytest.mark.smoke, pytest.mark.root]

SPEC = """
name = "traced"
duration = "1s"
warm_up = "100ms"
trace = true
floor = false
[[device]]
driver = "taut_forward"
link = "memif"
[[traffic]]
rates = ["10kpps"]
"""


def test_events_of_both_cores_surround_the_packets(tmp_path: Path) -> None:
    spec = tmp_path / "traced.toml"
    spec.write_text(SPEC)
    out = tmp_path / "run"

    argv = [*TAUT, "run", str(spec), "--out", str(out), "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120)

    [trial] = (out / "trials").iterdir()
    meta = json.loads((trial / "trial.json").read_text())
    if "taut-trace: ended with exit status 2" in str(meta["failure"]):
        pytest.skip(str(meta["failure"]["log_tail"]))
    assert done.returncode == 0, done.stderr
    events = pq.read_table(trial / "events.parquet")
    packets = pq.read_table(trial / "packets.parquet")
    cores = {meta["cores"]["generator"], meta["cores"]["device"]}
    assert set(json.loads((trial / "trace.json").read_text())["cores"]) == cores
    # Ticks, if nothing else: both cores have events, from before the first packet to the last.
    assert cores <= set(events["cpu"].to_pylist())
    assert pc.min(events["time_ns"]).as_py() < pc.min(packets["sent_ns"]).as_py()
    assert pc.max(events["time_ns"]).as_py() > pc.max(packets["sent_ns"]).as_py()

    [result] = json.loads((out / "results.json").read_text())
    assert result["explanation"]["causes"]
    assert "Why packets were late" in (out / "report.html").read_text()

    argv = [*TAUT, "explain", str(out), "--over", "p99", "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120)

    assert done.returncode == 0, done.stderr
    [explained] = json.loads(done.stdout)["trials"]
    # Every packet above the threshold has one verdict.
    assert explained["tail_packets"] > 0
    assert sum(cause["tail_share"] for cause in explained["causes"]) == pytest.approx(1)
    assert explained["worst"][0]["line"]
