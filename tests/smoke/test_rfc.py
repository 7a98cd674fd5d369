"""`taut rfc`, whole: every command of docs/rfc.md made tiny, and a device that is restarted."""

import json
import re
import shlex
from pathlib import Path

import pytest

from taut.analysis.outages import read_silence
from taut.cli.main import run_command
from taut.records.rundir import RunDirectory

ROOT = Path(__file__).parents[2]
COMMANDS = re.findall(r"^    bin/taut (.*)$", (ROOT / "docs/rfc.md").read_text(), re.MULTILINE)

pytestmark = [
    pytest.mark.smoke,
    pytest.mark.root,
    pytest.mark.beside,
    pytest.mark.long,
    pytest.mark.timeout(300),
]

TINY = {
    "frames": "64",
    "warm_up": "20ms",
    "residue": "50ms",
    "settle": "0s",
    "repeats": "0",
    "trial": "100ms",
    "width": "50%",
    "latency": "100ms",
    "tag_after": "50ms",
    "repetitions": "1",
    "loss_step": "50%",
    "overload": "100ms",
    "recovery": "100ms",
    "recoveries": "1",
    "before_reset": "100ms",
    "after_reset": "1s",
    "resets": "1",
    "burst_most": "10ms",
    "burst_step": "50%",
    "bursts": "1",
}
"""Trials of a tenth of a second at rates that any machine carries."""


def run_tiny(command: str, *more: str) -> int:
    """Run a command of the page with everything in it made tiny; gives its exit status."""
    words = shlex.split(command)
    if words[0] == "rfc":
        words[2] = str(ROOT / words[2])
        words += [f"--set=rfc.{key}={value}" for key, value in TINY.items()]
        words += ["--min=1kpps", "--max=20kpps", "--wait", *more]
    return run_command(words)


@pytest.mark.parametrize("number", ["2544", "8219", "9004"])
def test_every_command_of_the_page_does_what_the_page_says(
    number: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = [line for line in COMMANDS if f"rfc {number}" in line or f"rfc{number}" in line]

    # 1: this machine let the loopback, or the bridge, lose even at the lowest load.
    assert commands
    assert {run_tiny(line) for line in commands} <= {0, 1}

    shown = capsys.readouterr().out
    assert f"Not as RFC {number} has it: frame sizes 64 B instead of" in " ".join(shown.split())
    runs = [*Path("runs").glob("*")]
    for run in runs:
        document = json.loads((run / "rfc.json").read_text())
        assert document["rfc"] == number
        assert [row["frame"] for row in document["results"]] == ["64"]
        assert "Not as RFC" in (run / "report.html").read_text()


@pytest.mark.timing
def test_a_restarted_bridge_forwards_again_and_the_silence_is_told(tmp_path: Path) -> None:
    out = tmp_path / "run"
    changes = ("rates=2kpps", "restart=5s", "duration=6s", "warm_up=0s", "floor=false")

    words = ["run", str(ROOT / "examples/rfc.toml"), "--out", str(out), "--no-trace", "--wait"]
    words += [f"--set=traffic.constant.{change}" for change in changes]
    assert run_command(words) == 0

    [trial] = RunDirectory(out).trials()
    silence = read_silence(trial.packets)
    # What is built anew takes more than a millisecond; then packets come until the end.
    assert silence.longest_ns is not None
    assert 1_000_000 < silence.longest_ns < 3_000_000_000
    # Where the generator was late all the while, that is said.
    assert silence.lost > 0 or (silence.may_be_generators and silence.lost_void > 0)
