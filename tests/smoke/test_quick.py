"""`taut quick`, whole: what it says of a run is tests/cli/test_quick.py."""

from pathlib import Path

import pytest

from taut.cli.main import run_command
from taut.records.rundir import RunDirectory

pytestmark = [pytest.mark.smoke, pytest.mark.long, pytest.mark.timeout(600)]


def test_quick_leaves_a_whole_run_and_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run_command(["quick", "--wait"]) == 0

    [folder] = (tmp_path / "runs").iterdir()
    assert [trial.is_whole for trial in RunDirectory(folder).trials()] == [True] * 3
    shown = capsys.readouterr().out
    assert f"Report: runs/{folder.name}/report.html\n" in shown
    assert all(f"\n{device} " in shown for device in ("floor", "eager", "buffered"))
