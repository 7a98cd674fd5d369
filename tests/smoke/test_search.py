"""`taut search`, whole, over shared memory: what it promises whatever this machine is busy with."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from taut.cli.main import run_command
from taut.records.rundir import RunDirectory

pytestmark = [pytest.mark.smoke, pytest.mark.beside, pytest.mark.long, pytest.mark.timeout(600)]

TEXT = """
name = "short"
duration = "200ms"
warm_up = "20ms"
deadline = "50ms"
trace = "off"
[search]
min = "1kpps"
max = "50kpps"
limit = "30m"
repeats = 1
[[goal]]
name = "half"
loss = "50%"
trial = "200ms"
sum = "200ms"
width = "50%"
[[goal]]
name = "in_time"
within = "10ms"
share = "50%"
trial = "200ms"
sum = "200ms"
width = "50%"
[[device]]
driver = "taut_forward"
name = "eager"
[[traffic]]
rates = ["10kpps"]
"""


def interrupted(spec: Path, out: Path) -> int:
    """Begin a search, and stop it when it has two trials; gives its exit status."""
    command = [sys.executable, "-m", "taut.cli.main", "search", str(spec), "--out", str(out)]
    # It lets the search go first: no trial of it is to be over before anybody looks.
    with subprocess.Popen([*command, "--wait"], stderr=subprocess.DEVNULL, env=os.environ) as run:
        while run.poll() is None:
            if len([*(out / "trials").glob("[0-9]*")]) >= 2:
                run.send_signal(signal.SIGINT)
                break
            time.sleep(0.05)
        return run.wait()


def test_a_search_goes_on_where_it_was_stopped_and_keeps_all_trials(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec, out = tmp_path / "short.toml", tmp_path / "run"
    spec.write_text(TEXT)

    assert interrupted(spec, out) == 130
    began = {t.name: t.meta.started_utc for t in RunDirectory(out).trials()}
    again = ["search", str(spec), "--out", str(out), "--resume", "--wait", "--json"]
    # 1: this machine let the loopback lose even at the lowest load.
    assert run_command(again) in {0, 1}

    document = json.loads(capsys.readouterr().out)
    assert document == json.loads((out / "search.json").read_text())
    trials = {t.name: t.meta.started_utc for t in RunDirectory(out).trials()}
    assert began.items() <= trials.items()
    assert sorted(RunDirectory(out).manifest().order or ()) == sorted(trials)
    for one in document["searches"]:
        named = [name for step in one["steps"] for name in step["trials"]]
        named += [name for at in one["latency"] for name in at["trials"]]
        assert set(named) <= set(trials)
        for found in one["found"]:
            lower, upper = found["lower"], found["upper"]
            assert None in (lower, upper) or lower["load_pps"] < upper["load_pps"]
            assert found["irregular"] or None not in (lower, upper)
            assert lower is None or one["min_pps"] <= lower["load_pps"] <= one["max_pps"]
    assert [one["device"] for one in document["searches"]] == ["loopback_memif", "eager"]
    assert "How much it carries" in (out / "report.html").read_text()

    assert run_command(again) in {0, 1}
    assert {t.name for t in RunDirectory(out).trials()} == set(trials)
