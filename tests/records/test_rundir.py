import json
from pathlib import Path

import pytest

from made_run import VARIANTS, make_run
from taut.core.errors import InputError
from taut.records.rundir import RunDirectory


def test_trials_come_in_the_order_they_ran_failed_ones_too(tmp_path: Path) -> None:
    run = RunDirectory(make_run(tmp_path / "run", repetitions=1, failed=True))

    trials = run.trials()

    assert [trial.meta.index for trial in trials] == [0, 1, 2, 3, 4]
    assert [trial.is_whole for trial in trials] == [True] * 4 + [False]
    assert all(trial.packets.is_file() for trial in trials if trial.is_whole)
    assert run.manifest().spec.name == "made"


def test_the_thousandth_trial_comes_behind_the_others(tmp_path: Path) -> None:
    names = ["099-a-r1", "100-a-r1", "999-a-r1", "1000-a-r1", "1001-a-r1"]
    for name in reversed(names):
        (tmp_path / "trials" / name).mkdir(parents=True)
        (tmp_path / "trials" / name / "trial.json").write_text('{"status": "whole"}')
    run = RunDirectory(tmp_path)

    assert [trial.name for trial in run.trials()] == names
    assert run.has_whole("1000-a-r1")
    assert not run.has_whole("1002-a-r1")


def test_a_trial_under_a_temporary_name_is_not_there(tmp_path: Path) -> None:
    temporary = tmp_path / "trials" / ".tmp-000-x"
    temporary.mkdir(parents=True)
    (temporary / "trial.json").write_text("{}")

    assert RunDirectory(tmp_path).trials() == []


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: no such run directory"):
        RunDirectory(tmp_path / "nowhere").trials()


@pytest.mark.parametrize("text", ["{", "[1]", "\xff"])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_bytes(text.encode("latin-1"))

    with pytest.raises(InputError, match=r"manifest\.json: (not .*JSON|an object expected)"):
        RunDirectory(tmp_path).manifest()


def test_made_counters_reconcile(tmp_path: Path) -> None:
    run = RunDirectory(make_run(tmp_path / "run", repetitions=1))

    for trial in run.trials():
        n = json.loads((trial.path / "trial.json").read_text())["generator"]["counters"]
        assert n["due"] == n["sent"] + n["unsent"]
        assert n["sent"] == n["matched"] + n["lost"]
        assert n["received"] == n["matched"] + n["duplicates"] + n["orphans"] + n["late"]


@pytest.mark.parametrize("name", ["manifest.json", "trial.json"])
def test_a_document_of_a_newer_taut_is_not_taken_for_an_old_one(tmp_path: Path, name: str) -> None:
    run = RunDirectory(make_run(tmp_path / "run", VARIANTS[:1], repetitions=1))
    [path] = run.path.rglob(name)
    document = json.loads(path.read_text())

    path.write_text(json.dumps(document | {"format": 2}))

    read = run.manifest if name == "manifest.json" else run.trials
    with pytest.raises(InputError, match=f"{name}: format 2, this taut reads 1; update taut"):
        read()
    document.pop("format", None)
    path.write_text(json.dumps(document))
    assert read()
