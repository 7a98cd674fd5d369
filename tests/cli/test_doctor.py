import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from taut.cli import doctor_job as module
from taut.cli.doctor import doctor
from taut.cli.main import run_command
from taut.core.errors import TautError
from taut.dut.drivers import DRIVERS
from taut.experiment import leftovers
from taut.testbed.control_groups import controllers_kept
from taut.testbed.leftovers import Places, find_leftovers, remove_leftovers
from taut.testbed.links import LINKS
from taut.testbed.neighbours import NEIGHBOURS
from taut.testbed.placements import PLACEMENTS
from terminal import Terminal


@pytest.fixture
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where trace instances and control groups would be."""
    return tmp_path_factory.mktemp("kernel")


@pytest.fixture
def app(tmp_path: Path, kernel: Path, monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    monkeypatch.setattr(module, "default_base", lambda: tmp_path)
    monkeypatch.setenv("TMPDIR", str(kernel))
    places = Places((kernel / "tracing",), kernel / "mounts", kernel / "proc")
    monkeypatch.setattr(leftovers, "find_leftovers", lambda: find_leftovers(places))
    monkeypatch.setattr(leftovers, "remove_leftovers", lambda: remove_leftovers(places))
    monkeypatch.setattr(leftovers, "holders", lambda _: [])
    app = typer.Typer()
    app.command()(doctor)
    return app


def test_json_is_one_document_that_names_every_link_and_device(app: typer.Typer) -> None:
    result = CliRunner().invoke(app, ["--json"])

    report = json.loads(result.stdout)
    assert {row["name"] for row in report["links"]} == set(LINKS)
    assert {row["name"] for row in report["devices"]} == set(DRIVERS)
    assert {row["name"] for row in report["neighbours"]} == set(NEIGHBOURS)
    assert report["runs_alive"] == []
    assert report["removed"] == []


def test_asking_whether_containers_run_here_leaves_the_root_group_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    control = tmp_path / "cgroup.subtree_control"
    control.write_text("memory pids\n")
    runtime = tmp_path / "runc"
    runtime.write_text(f"#!/bin/sh\necho cpuset cpu memory pids >{control}\n")
    runtime.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(module, "controllers_kept", lambda: controllers_kept(tmp_path))

    module.examine([])

    assert control.read_text() == "-cpu"


def test_no_word_is_broken_at_any_width(
    monkeypatch: pytest.MonkeyPatch, terminal: Terminal
) -> None:
    thing = f"trace instance /sys/kernel/tracing/{'instances/taut-4711' * 8}"
    report = replace(module.examine([thing]), left_behind=(thing,), runs_alive=())
    monkeypatch.setattr(module, "examine", lambda _: report)

    terminal.assert_no_word_is_broken(lambda: run_command(["doctor"]))


def test_clean_says_what_it_removed(app: typer.Typer, tmp_path: Path) -> None:
    (tmp_path / "ab12").mkdir()

    result = CliRunner().invoke(app, ["--clean"])

    assert "removed folder" in result.stdout
    assert not (tmp_path / "ab12").exists()


def test_what_could_not_be_put_back_hides_nothing_of_the_report(
    app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> list[str]:
        raise TautError("stat_interval: changed by somebody else meanwhile")

    (tmp_path / "ab12").mkdir()
    monkeypatch.setattr(leftovers, "_dead", lambda _: ["run cd34"])
    monkeypatch.setattr(leftovers, "_put_back", refuse)

    result = CliRunner().invoke(app, ["--clean", "--json"])

    assert json.loads(result.stdout)["removed"] == [f"folder {tmp_path / 'ab12'}"]
    assert str(result.exception) == "stat_interval: changed by somebody else meanwhile"


def test_what_dead_programs_left_is_named_then_removed(app: typer.Typer, kernel: Path) -> None:
    instance = kernel / "tracing/instances/taut-4711"
    instance.mkdir(parents=True)

    named = json.loads(CliRunner().invoke(app, ["--json"]).stdout)
    shown = CliRunner().invoke(app, [], env={"COLUMNS": "300"}).stdout
    cleaned = json.loads(CliRunner().invoke(app, ["--json", "--clean"]).stdout)

    assert named["left_behind"] == [f"trace instance {instance}"]
    assert f"trace instance {instance}; taut doctor --clean" in " ".join(shown.split())
    assert f"trace instance {instance}" in cleaned["removed"]
    assert cleaned["left_behind"] == []


def test_a_killed_run_is_named_then_removed(app: typer.Typer, tmp_path: Path) -> None:
    folder = tmp_path / ".new-ab12-999999999-1"
    folder.mkdir()

    named = json.loads(CliRunner().invoke(app, ["--json"]).stdout)
    shown = CliRunner().invoke(app, [], env={"COLUMNS": "300"}).stdout
    cleaned = json.loads(CliRunner().invoke(app, ["--json", "--clean"]).stdout)

    assert f"folder {folder}" in named["left_behind"]
    assert f"left by a dead process: folder {folder}; taut doctor" in " ".join(shown.split())
    assert f"folder {folder}" in cleaned["removed"]
    assert f"folder {folder}" not in cleaned["left_behind"]


def test_without_the_programs_nothing_can_be_measured(
    app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAUT_BIN_DIR", str(tmp_path))

    result = CliRunner().invoke(app, [])

    assert result.exit_code == 1
    assert "make build" in result.stdout


@pytest.mark.parametrize(("table", "name"), [("devices", "testpmd"), ("placements", "container")])
def test_one_whose_code_fails_is_a_line_and_stops_no_other(
    app: typer.Typer, monkeypatch: pytest.MonkeyPatch, table: str, name: str
) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError("by\nzero")

    members = {"devices": DRIVERS, "placements": PLACEMENTS}[table]
    monkeypatch.setattr(type(members[name]), "missing", fails)

    report = json.loads(CliRunner().invoke(app, ["--json"]).stdout)

    rows = {row["name"]: row["missing"] for row in report[table]}
    assert rows.keys() == members.keys()
    assert rows[name] == (
        "what it lacks cannot be told, its code failed: ZeroDivisionError: by zero"
    )
