"""The front door: exit status and one line for everything that is wrong."""

import subprocess
import sys
from collections.abc import Mapping

import pytest

from taut.cli import main as module
from taut.cli.main import COMMANDS, GROUPS, command_app, run_command
from taut.core.errors import InterruptedRun, MissingToolError, RequirementError, TautError


def fails_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    def dispatch(program: str, commands: Mapping[str, str], arguments: list[str]) -> int:
        raise error

    monkeypatch.setattr(module, "_dispatch", dispatch)
    return run_command(["run"])


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (TautError("x"), 1),
        (MissingToolError("x"), 2),
        (RequirementError("x"), 3),
        (InterruptedRun("x"), 130),
        (KeyboardInterrupt(), 130),
    ],
)
def test_each_error_has_its_exit_status_and_one_line(
    error: BaseException,
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    assert fails_with(error, monkeypatch) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("taut: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["rnu"], "unknown command 'rnu'; did you mean 'run'?"),
        (["zzz"], "`taut --help` lists what there is"),
        (["--verbose"], "unknown option '--verbose'"),
        (["run", "--bla"], "run: No such option"),
        (["run"], "run: Missing argument"),
        (["run", "nothing.toml"], "nothing.toml: no such file"),
        (["reproduce", "debs2"], "did you mean 'debs20'"),
    ],
)
def test_wrong_usage_is_2_and_one_line(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
):
    assert run_command(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert expected in err
    assert err.count("\n") == 1


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]):
    assert run_command(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"  {name} " in out for name in COMMANDS)


@pytest.mark.parametrize(
    "names",
    [(name,) for name in COMMANDS if name not in GROUPS]
    + [(group, name) for group, commands in GROUPS.items() for name in commands],
)
def test_every_command_is_there(names: tuple[str, ...]):
    assert command_app(*names).registered_commands[0].name == names[-1]


def test_version(capsys: pytest.CaptureFixture[str]):
    assert run_command(["--version"]) == 0
    assert capsys.readouterr().out.startswith("taut ")


def test_help_loads_no_heavy_library():
    code = (
        "import sys; from taut.cli.main import run_command; run_command(['--help']);"
        "print([m for m in ('numpy', 'pyarrow', 'duckdb', 'altair') if m in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.stdout.splitlines()[-1] == "[]"
