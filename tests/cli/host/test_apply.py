import json
from pathlib import Path

import pytest

from host_tree import TreeWriter, put, snapshot, tree
from taut.cli.main import run_command
from taut.host.apply import Wish, apply_changes
from taut.host.host import Host
from taut.host.journal import Journal
from taut.host.setting import Change
from taut.host.settings import FileSetting

STAT_INTERVAL = "/proc/sys/vm/stat_interval"
FILES = {
    "/etc/machine-id": "me\n",
    "/proc/sys/kernel/random/boot_id": "now\n",
    "/sys/devices/system/cpu/online": "0-3\n",
    STAT_INTERVAL: "1\n",
}


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """A tree in the place of this machine."""
    found = tree(tmp_path, FILES)
    for command in ("apply", "verify", "undo"):
        monkeypatch.setattr(f"taut.cli.host.{command}.Host", lambda: found)
    for command in ("apply", "undo"):
        monkeypatch.setattr(f"taut.cli.host.{command}.Writer", TreeWriter)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    return found


def applied(host: Host) -> None:
    wish = Wish("R06-now", Change(FileSetting(STAT_INTERVAL, "number"), "120"))
    apply_changes(host, TreeWriter(host), [wish])


@pytest.mark.parametrize("command", ["apply", "undo"])
def test_without_root_nothing_is_written(
    host: Host,
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    before = snapshot(host.root)

    assert run_command(["host", command]) == 2

    assert "needs root; nothing was written" in capsys.readouterr().err
    assert snapshot(host.root) == before


def test_where_nobody_can_be_asked_yes_is_needed(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    before = snapshot(host.root)

    assert run_command(["host", "apply"]) == 2

    assert "--yes" in capsys.readouterr().err
    assert snapshot(host.root) == before


@pytest.mark.parametrize("cores", ["0-3", "9", "x"])
def test_cores_that_cannot_poll_are_refused(host: Host, cores: str) -> None:
    before = snapshot(host.root)

    assert run_command(["host", "apply", "--yes", "--cores", cores]) == 2
    assert snapshot(host.root) == before


def test_apply_verify_and_undo_go_round(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    apply = ["host", "apply", "--yes", "--role", "poll-core", "--cores", "2-3", "--only", "R06"]

    assert run_command(apply) == 0
    assert host.read(STAT_INTERVAL) == "120"
    assert run_command(["host", "verify"]) == 0
    assert run_command(["host", "undo"]) == 0
    assert host.read(STAT_INTERVAL) == "1"
    assert run_command(["host", "undo"]) == 0

    said = capsys.readouterr().out
    assert "1 changes made" in said
    assert "1 of 1 changes in force" in said
    assert said.endswith("Nothing to undo.\n")


def test_undo_names_what_somebody_else_changed(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    applied(host)
    put(host.root, STAT_INTERVAL, "7\n")

    assert run_command(["host", "verify"]) == 1
    assert run_command(["host", "undo"]) == 1
    said = capsys.readouterr()
    assert STAT_INTERVAL in said.err
    assert said.err.count("\n") == 1
    assert host.read(STAT_INTERVAL) == "7"

    assert run_command(["host", "undo", "--force"]) == 0
    assert host.read(STAT_INTERVAL) == "1"


def test_undo_of_a_corrupt_journal_says_the_line_and_fails(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    applied(host)
    with Journal(host).path.open("a") as file:
        file.write("nonsense\n")

    assert run_command(["host", "undo"]) == 1

    assert "line 6 of the journal is corrupt" in capsys.readouterr().out
    assert host.read(STAT_INTERVAL) == "1"


def test_verify_gives_a_document(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    applied(host)

    assert run_command(["host", "verify", "--json"]) == 0

    (change,) = json.loads(capsys.readouterr().out)["changes"]
    assert (change["old"], change["now"], change["standing"]) == ("1\n", "120\n", "in force")
