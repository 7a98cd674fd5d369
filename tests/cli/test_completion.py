"""Completion, asked as the scripts of the shells ask."""

import os
import shutil
import subprocess
import sys

import pytest

from taut.cli.main import run_command


def complete(line: str, shell: str = "bash") -> list[str]:
    words = line.split(" ")
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    env = {**os.environ, **asked, "_TAUT_COMPLETE": f"{shell}_complete"}
    command = [sys.executable, "-m", "taut.cli.main"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("taut rep", ["plain,reproduce", "plain,report"]),
        ("taut host ap", ["plain,apply"]),
        ("taut host apply --pr", ["plain,--profile"]),
        ("taut host plan --device linux_br", ["plain,linux_bridge"]),
        ("taut host plan --device testpmd,sl", ["plain,testpmd,sleeps"]),
        ("taut host plan --only K23,R06", ["plain,K23,R06"]),
        ("taut run exa", ["file,exa"]),
    ],
)
def test_commands_options_and_files_are_completed(line: str, expected: list[str]) -> None:
    assert complete(line) == expected


@pytest.mark.smoke
def test_options_of_a_program_are_completed() -> None:
    assert complete("taut inject --dur") == ["plain,--duration"]


def test_zsh_and_fish_are_told_what_a_command_does() -> None:
    [_, name, summary] = complete("taut doct", "zsh")
    assert (name, summary[:3]) == ("doctor", "say")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_script_is_one_of_its_shell(shell: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_command(["completion", shell]) == 0

    script = capfd.readouterr().out
    assert f"_TAUT_COMPLETE={shell}_complete" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_another_shell_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["completion", "tcsh"]) == 2
    assert "there are bash, zsh, fish" in capsys.readouterr().err
