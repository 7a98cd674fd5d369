import json
from pathlib import Path

import pytest

from taut.records.documents.json_form import plain
from taut.records.documents.manifest import SpecOfRun
from taut.records.manifest import make_manifest, write_manifest
from taut.records.rundir import RunDirectory


def test_the_manifest_holds_what_could_change_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "taut-forward"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("TAUT_BIN_DIR", str(tmp_path))

    manifest = make_manifest(
        host={"kernel": "6.1"},
        spec=SpecOfRun("x"),
        seeds={"order": 7},
        command_line=["taut", "run"],
    )
    write_manifest(tmp_path, manifest)
    read = json.loads((tmp_path / "manifest.json").read_text())

    assert read["host"] == {"kernel": "6.1"}
    assert read["spec"] == {"name": "x"}
    assert read["seeds"] == {"order": 7}
    assert read["taut"]["version"]
    assert len(read["taut"]["binaries"]["taut-forward"]["sha256"]) == 64
    assert read["taut"]["binaries"]["taut-generate"] is None
    assert read["python"]["packages"]["numpy"]


def test_a_password_of_the_command_line_is_not_written_down() -> None:
    typed = ["taut", "analyze", "a", "b", "--engine-url", "postgresql://u:hunter2@db/x"]

    manifest = make_manifest(host={}, spec=SpecOfRun(), seeds={}, command_line=typed)

    assert "hunter2" not in json.dumps(plain(manifest))
    assert manifest.taut.command_line[-1] == "postgresql://u:***@db/x"


def test_a_path_of_any_bytes_comes_back(tmp_path: Path) -> None:
    typed = ["taut", "run", "x.toml", "--out", "runs/\udcff é"]
    manifest = make_manifest(host={}, spec=SpecOfRun(), seeds={}, command_line=typed)

    write_manifest(tmp_path, manifest)

    assert RunDirectory(tmp_path).manifest() == manifest
    assert "\\udcff é" in (tmp_path / "manifest.json").read_text(encoding="utf-8")
