"""What `taut trim --pid` refuses, in one line, before anything is measured."""

import pytest

from taut.cli.main import run_command

SPEC = "examples/first-look.toml"


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
