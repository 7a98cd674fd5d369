import json
from dataclasses import replace
from pathlib import Path

import pytest

from made_run import VARIANTS, make_run
from made_soak import SECOND_NS, course, document, row, segment
from taut.analysis.results import analyse_run
from taut.cli.main import run_command
from taut.records.documents.json_form import plain_object
from taut.records.documents.soak import SOAK_FILE
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


def outcome_of(run: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert run_command(["runs", str(run.parent), "--json"]) == 0
    return str(json.loads(capsys.readouterr().out)["runs"][0]["outcome"])


def plan_also(run: Path, *names: str) -> None:
    """Let a run's manifest begin with trials that were planned before those it has."""
    manifest = json.loads((run / "manifest.json").read_text())
    there = sorted(path.name for path in (run / "trials").iterdir())
    (run / "manifest.json").write_text(json.dumps(manifest | {"order": [*names, *there]}))


def test_an_attempt_that_was_repeated_is_not_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "run", VARIANTS[1:2], repetitions=1)
    [whole] = [path.name for path in (run / "trials").iterdir()]
    plan_also(run, f"900-{whole.partition('-')[2]}")

    assert outcome_of(run, capsys).startswith("not analysed: ")


def test_a_repetition_without_a_trial_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "run", VARIANTS[1:2], repetitions=1)
    [whole] = [path.name for path in (run / "trials").iterdir()]
    plan_also(run, f"900-{whole.partition('-')[2].replace('-r1', '-r2')}")

    assert outcome_of(run, capsys) == "incomplete: 1 of 2 trials"


@pytest.mark.parametrize(
    ("planned_s", "said"),
    [(600, "not analysed: "), (3_600, "incomplete: 10 min 0 s of 1 h 0 min")],
)
def test_a_soak_is_complete_when_all_its_time_was_measured(
    planned_s: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "run", VARIANTS[1:2], repetitions=1)
    plan_also(run, "900-killed-r1")
    of = document(course([segment([row(0), row(1)])]))
    soak = replace(of, planned_ns=planned_s * SECOND_NS)
    (run / SOAK_FILE).write_text(json.dumps(plain_object(soak)))

    assert outcome_of(run, capsys).startswith(said)


@pytest.mark.parametrize(
    ("n_rows", "said"),
    [(2, "not analysed: "), (1, "incomplete: 5 min 0 s of 10 min 0 s of the control")],
)
def test_a_soak_whose_control_was_cut_short_is_incomplete(
    n_rows: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "run", VARIANTS[1:2], repetitions=1)
    of = document(course([segment([row(0), row(1)])]))
    control = course([segment([row(n) for n in range(n_rows)], device="loopback_memif")])
    (run / SOAK_FILE).write_text(json.dumps(plain_object(replace(of, control=control))))

    assert outcome_of(run, capsys).startswith(said)


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
