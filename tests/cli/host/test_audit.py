import json
from pathlib import Path

import pytest

from host_tree import put
from taut.cli.main import run_command
from taut.host.checks import CHECKS


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A copied machine of two cores."""
    put(tmp_path, "/sys/devices/system/cpu/online", "0-1\n")
    put(tmp_path, "/proc/sys/vm/stat_interval", "1\n")
    return tmp_path


def test_the_document_has_every_check_with_one_of_four_states(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["host", "audit", "--root", str(machine), "--cores", "1", "--json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in document["checks"]] == [check.id for check in CHECKS]
    assert sum(document["counts"].values()) == len(CHECKS)
    assert document["cores"] == "1"


def test_the_table_shows_what_failed_and_what_would_tell(
    machine: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    assert run_command(["host", "audit", "--root", str(machine)]) == 0

    out = capsys.readouterr().out
    assert "R06" in out and "stat_interval = 1" in out
    assert f"{len(CHECKS)} checks:" in out


def test_all_cores_are_refused(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["host", "audit", "--root", str(machine), "--cores", "0-1"]) == 2
    assert "housekeeping" in capsys.readouterr().err


def test_this_machine_can_be_audited(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["host", "audit", "--watch", "0.1s", "--json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert document["watched_s"] >= 0.1
