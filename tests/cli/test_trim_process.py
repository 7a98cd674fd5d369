"""What `taut trim --pid` refuses, in one line, before anything is measured."""

import json
from pathlib import Path

import pytest

from taut.cli import trim_process
from taut.cli.main import run_command
from taut.cli.trim_process import Kept
from taut.records.documents.manifest import ProcessOfRun
from taut.records.documents.trim import TRIM_FILE, WINDOWS_FILE, WindowsOfTrim
from taut.report.trim import read_trim

SPEC = "examples/first-look.toml"
PROCESS = ProcessOfRun(4242, "testpmd", "testpmd -l 1", ())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name an experiment, or a process with --pid"),
        ([SPEC, "--pid", "1"], "one of them"),
        (["--pid", "1", "--target", "p99"], "--target: of an experiment"),
        (["--pid", "1", "--set", "duration=1s"], "--set: of an experiment"),
        ([SPEC, "--window", "1s"], "--window: of a process"),
        (["--pid", "999999999", "--dry-run"], "process 999999999: there is none"),
        (["--pid", "1", "--only", "X99", "--dry-run"], "--only X99: no such check or remedy"),
        (["--pid", "1", "--window", "soon", "--dry-run"], "soon"),
        (["--pid", "1", "--window", "0s", "--dry-run"], "--window 0 ns: write more than 0"),
        (["--pid", "1", "--window", "25h", "--dry-run"], "--window 25 h 0 min: write more than 0"),
    ],
)
def test_what_makes_no_sense_is_said_in_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["trim", *arguments]) == 2

    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.root
def test_a_budget_that_can_show_nothing_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["trim", "--pid", "1", "--yes", "--budget", "5s"]) == 2

    err = capsys.readouterr().err
    assert "--budget 5s: too small to show anything" in err
    assert "--window 500ms" in err


@pytest.mark.parametrize("only", ["K04", "K04-now"])
def test_what_is_never_tried_is_refused_where_nothing_else_is_named(
    only: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    never = {"K04-now": "K04-now is not tried: it would take the cores."}
    monkeypatch.setattr(trim_process, "never_tried", lambda _: never)
    arguments = ["trim", "--pid", "999999999", "--dry-run", "--only"]

    assert run_command([*arguments, only]) == 2
    err = capsys.readouterr().err
    assert f"--only {only}: K04-now is not tried: it would take the cores\n" in err

    assert run_command([*arguments, f"{only},R06"]) == 2
    assert "process 999999999: there is none" in capsys.readouterr().err


def test_what_an_interrupt_leaves_is_no_damaged_trim(tmp_path: Path) -> None:
    kept = Kept(tmp_path, WindowsOfTrim(PROCESS, 1, 10**9, ()))

    kept.so_far([])

    assert read_trim(tmp_path) is None
    assert json.loads((tmp_path / WINDOWS_FILE).read_text())["windows"] == []

    kept.whole({"sentence": "done"})

    assert [path.name for path in tmp_path.iterdir()] == [TRIM_FILE]
    whole = json.loads((tmp_path / TRIM_FILE).read_text())
    assert whole == kept.document({"sentence": "done"})
    assert (whole["sentence"], whole["window_ns"]) == ("done", 10**9)
