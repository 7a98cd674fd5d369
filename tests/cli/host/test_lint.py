import json
from pathlib import Path

import pytest

from taut.cli.host import lint as module
from taut.cli.main import run_command
from taut.host.host import Host
from terminal import Terminal


def put(root: Path, path: str, text: str) -> None:
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "machine"
    put(root, "/proc/cmdline", "quiet nohz_full=2-3\n")
    put(root, "/proc/sys/kernel/osrelease", "6.1.0-13-amd64\n")
    put(root, "/sys/devices/system/cpu/present", "0-3\n")
    put(root, "/boot/config-6.1.0-13-amd64", "CONFIG_NO_HZ_FULL=y\n")
    monkeypatch.setattr(module, "Host", lambda: Host(root))
    return root


def lint(*arguments: str) -> int:
    return run_command(["host", "lint", *arguments])


def test_a_typo_is_named_with_what_was_meant_and_ends_with_3(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert lint("isolcpus=1 nosoftlookup") == 3

    printed = capsys.readouterr().out
    assert "error    nosoftlookup (misspelt)" in printed
    assert "-> did you mean nosoftlockup?" in printed
    assert "1 wrong, 1 to know" in printed


def test_no_word_is_broken_at_any_width(terminal: Terminal) -> None:
    line = f"idle=poll nosoftlookup isolcpus=1 mce=off {'a-very.long_name:' * 6}=1"

    terminal.assert_no_word_is_broken(lambda: lint(line))


def test_a_good_line_ends_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert lint("nohz_full=7 irqaffinity=0-6 isolcpus=managed_irq,7 nosmt") == 0

    assert "nothing wrong, 0 to know; judged for any kernel" in capsys.readouterr().out


def test_warnings_alone_are_not_wrong() -> None:
    assert lint("tsc=reliable") == 0


def test_words_need_no_quotes() -> None:
    assert lint("quiet", "nosoftlookup") == 3


def test_without_text_the_running_line_is_judged_for_the_running_kernel(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lint() == 0

    assert "judged for kernel 6.1, its configuration, 4 cores" in capsys.readouterr().out


def test_the_running_line_is_wrong_where_its_kernel_lacks_the_option(machine: Path) -> None:
    put(machine, "/boot/config-6.1.0-13-amd64", "# CONFIG_NO_HZ_FULL is not set\n")

    assert lint() == 3


def test_a_text_is_judged_for_this_machine_only_when_asked(machine: Path) -> None:
    assert lint("nohz_full=8-15") == 0
    assert lint("nohz_full=8-15", "--here") == 3


def test_a_text_can_be_judged_for_another_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    text = "rcutree.nohz_full_patience_delay=1000"

    assert lint(text, "--kernel", "6.12") == 0
    assert lint(text, "--kernel", "v6.1.0-13-amd64") == 3
    assert "came with 6.11" in capsys.readouterr().out


def test_a_text_can_be_judged_for_a_configuration_and_a_number_of_cores(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("CONFIG_NO_HZ_FULL=y\n")

    assert lint("nohz_full=2-3", "--config", str(config), "--cpus", "4") == 0
    config.write_text("# CONFIG_NO_HZ_FULL is not set\n")
    assert lint("nohz_full=2-3", "--config", str(config)) == 3
    assert lint("nohz_full=2-4", "--cpus", "4") == 3


def test_a_file_of_grub_is_read(tmp_path: Path) -> None:
    file = tmp_path / "grub"
    file.write_text('GRUB_CMDLINE_LINUX_DEFAULT="quiet"\nGRUB_CMDLINE_LINUX="pcie_asmp=off"\n')

    assert lint("--file", str(file)) == 3


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert lint("mce=off", "--json", "--kernel", "6.1", "--cpus", "8") == 3

    document = json.loads(capsys.readouterr().out)
    (problem,) = document.pop("problems")
    assert document == {
        "format": 1,
        "command_line": "mce=off",
        "kernel": "6.1",
        "n_cores": 8,
        "is_wrong": True,
    }
    assert problem["kind"] == "dangerous"
    assert problem["severity"] == "danger"
    assert problem["parameter"] == "mce=off"
    assert set(problem) == {"kind", "parameter", "severity", "message", "remedy"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--kernel", "six", "quiet"], "--kernel 'six'"),
        (["--file", "/no/such/file"], "/no/such/file"),
        (["--config", "/no/such/config", "quiet"], "/no/such/config"),
        (["--config", "/dev/null", "quiet"], "no kernel configuration"),
        (["--file", "/dev/null"], "no command line there"),
        (["--file", "/dev/null", "quiet"], "exclude each other"),
        (["  "], "no command line there"),
        (["--cpus", "0", "quiet"], "--cpus"),
        (["--what"], "--what"),
    ],
)
def test_bad_input_is_one_line_and_ends_with_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lint(*arguments) == 2

    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
