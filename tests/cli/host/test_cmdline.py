import json
from pathlib import Path

import pytest

from host_tree import put
from taut.cli.main import run_command
from terminal import WIDTHS, Terminal


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A copied machine of two cores, booted without parameters; its kernel has NO_HZ_FULL."""
    cpu = "/sys/devices/system/cpu"
    put(tmp_path, f"{cpu}/online", "0-1\n")
    put(tmp_path, f"{cpu}/isolated", "\n")
    put(tmp_path, f"{cpu}/nohz_full", "(null)\n")
    put(tmp_path, "/proc/cmdline", "ro quiet\n")
    return tmp_path


def test_the_first_line_is_the_command_line_and_each_parameter_has_a_reason(
    machine: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    assert run_command(["host", "cmdline", "--root", str(machine), "--cores", "1"]) == 0

    first, *lines = capsys.readouterr().out.splitlines()
    assert "nohz_full=1" in first.split()
    for parameter in first.split():
        [at] = [i for i, line in enumerate(lines) if line.split()[:1] == [parameter]]
        assert lines[at + 1].startswith("    ") and len(lines[at + 1].split()) > 3


def test_the_command_line_is_one_line_and_no_word_below_it_is_broken(
    machine: Path, terminal: Terminal
) -> None:
    cmdline = ["host", "cmdline", "--root", str(machine), "--cores", "1", "--profile", "extreme"]

    texts = [terminal.printed(lambda: run_command(cmdline), width) for width in WIDTHS]

    assert len({text.splitlines()[0] for text in texts}) == 1
    assert len({tuple(text.split()) for text in texts}) == 1
    for width, text in zip(WIDTHS, texts, strict=True):
        assert max(map(len, text.splitlines()[1:])) <= width


def test_the_document_says_who_wants_each(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["host", "cmdline", "--root", str(machine), "--cores", "1", "--json"]
    assert run_command([*arguments, "--role", "poll-core", "--profile", "minimal"]) == 0

    document = json.loads(capsys.readouterr().out)
    wanted_by = {each["parameter"]: each["by"] for each in document["parameters"]}
    assert wanted_by["nohz_full=1"] == "K06-boot"
    assert document["cmdline"].split() == list(wanted_by)
    assert all(each["why"] for each in document["parameters"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--role", "poll-core"], "name some with --cores"),
        (["--cores", "0-1"], "every core of this machine"),
        (["--cores", "7"], "not online"),
        (["--cores", "1-x"], "is no core"),
        (["--cores", "1", "--profile", "brave"], "no profile 'brave'"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    machine: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run_command(["host", "cmdline", "--root", str(machine), *arguments]) == 2

    captured = capsys.readouterr()
    assert said in captured.err and captured.err.count("\n") == 1
    assert captured.out == ""


def test_a_device_that_sleeps_is_not_booted_with_nohz_full(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sleeps = ["--device", "linux_bridge"]
    assert run_command(["host", "cmdline", "--root", str(machine), "--cores", "1", *sleeps]) == 0

    assert "nohz_full" not in capsys.readouterr().out.splitlines()[0]
