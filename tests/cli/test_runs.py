import json
from pathlib import Path

import pytest

from made_run import VARIANTS, make_run
from taut.analysis.results import analyse_run
from taut.cli.main import run_command
from taut.records.rundir import RunDirectory


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_run(tmp_path / "analysed", VARIANTS[:2], repetitions=1)
    analyse_run(RunDirectory(tmp_path / "analysed"))
    make_run(tmp_path / "raw", VARIANTS[:1], repetitions=1)
    cut = make_run(tmp_path / "cut", VARIANTS[:1], repetitions=1)
    manifest = json.loads((cut / "manifest.json").read_text())
    whole = [path.name for path in (cut / "trials").iterdir()]
    (cut / "manifest.json").write_text(json.dumps(manifest | {"order": [*whole, "001-more"]}))
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "manifest.json").write_text("{")
    (tmp_path / "other").mkdir()
    return tmp_path


def test_every_run_says_what_was_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["runs", str(folder), "--json"]) == 0

    found = {Path(run["run"]).name: run for run in json.loads(capsys.readouterr().out)["runs"]}
    assert found.keys() == {"analysed", "raw", "cut", "damaged"}
    verdict = json.loads((folder / "analysed" / "summary.json").read_text())["verdict"]
    assert found["analysed"]["outcome"] == verdict
    assert found["analysed"]["devices"] == ["floor", "eager"]
    assert found["raw"]["outcome"] == f"not analysed: taut report {folder / 'raw'}"
    assert found["cut"]["outcome"] == "incomplete: 1 of 2 trials"
    assert found["damaged"]["outcome"].startswith("damaged: ")


@pytest.mark.parametrize("file", ["manifest.json", "trials/*/trial.json"])
def test_a_time_that_is_none_is_damage(
    file: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [path] = (folder / "raw").glob(file)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"started_utc": "yesterday"}))

    assert run_command(["runs", str(folder), "--json"]) == 0

    found = {Path(run["run"]).name: run for run in json.loads(capsys.readouterr().out)["runs"]}
    why = f"damaged: {path}: started_utc: 'yesterday' is no time; the file is damaged"
    assert found["raw"]["outcome"] == why
    assert found["cut"]["outcome"] == "incomplete: 1 of 2 trials"


def test_a_path_is_in_one_piece_at_any_width(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")

    assert run_command(["runs", str(folder)]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert str(folder / "raw") in lines
    assert lines[-1] == f"{folder}."


def test_where_nothing_was_measured_it_says_what_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["runs", str(tmp_path / "none")]) == 2
    assert "`taut quick` make runs/" in capsys.readouterr().err


def test_the_index_has_every_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = folder / "index.html"

    assert run_command(["runs", str(folder), "--html", str(index), "--json"]) == 0

    found = json.loads(capsys.readouterr().out)["runs"]
    page = index.read_text()
    assert page.count('<th scope="row"') == len(found) == 4
    assert "Made-up CPU, Linux 6.1.0-made" in page
    assert "incomplete: 1 of 2 trials" in page
