"""A run in one file: the same digits in another place, and what can be done without its records."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from made_run import VARIANTS, make_run
from made_trace import MadeTrace, write_trace
from taut.analysis.results import analyse_run
from taut.cli.main import run_command
from taut.records.rundir import RunDirectory

SMALL = tuple(
    replace(one, trial=replace(one.trial, n_packets=5_000, device_stall=None, generator_gap=None))
    for one in VARIANTS[:2]
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = make_run(tmp_path_factory.mktemp("here") / "first", SMALL, repetitions=1)
    write_trace(next((path / "trials").glob("*-eager-*")), MadeTrace())
    analyse_run(RunDirectory(path))
    return path


@pytest.fixture(scope="module")
def elsewhere(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Packed where it was measured, unpacked in another folder, under another name."""
    folder = tmp_path_factory.mktemp("elsewhere")
    assert run_command(["pack", str(run), "--out", str(folder / "a.taut")]) == 0
    assert run_command(["unpack", str(folder / "a.taut"), "--out", str(folder / "unpacked")]) == 0
    return folder / "unpacked"


@pytest.fixture(scope="module")
def bare(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpacked without its records."""
    folder = tmp_path_factory.mktemp("bare")
    file, out = str(folder / "a.taut"), str(folder / "unpacked")
    assert run_command(["pack", str(run), "--without-records", "--out", file]) == 0
    assert run_command(["unpack", file, "--out", out]) == 0
    return folder / "unpacked"


def document(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    assert run_command([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def digits(run: Path) -> list[bytes]:
    return [(run / name).read_bytes() for name in ("results.json", "summary.json")]


def test_another_place_reports_and_explains_the_same(
    run: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = digits(run)
    assert digits(elsewhere) == found

    reports = [document(capsys, "report", str(path))["runs"][0] for path in (run, elsewhere)]
    assert reports[0] == reports[1] | {"run": str(run)}
    explained = [document(capsys, "explain", str(path)) for path in (run, elsewhere)]
    assert explained[0] == explained[1] | {"run": str(run)}
    assert explained[0]["trials"]

    (elsewhere / "results.json").unlink()
    analyse_run(RunDirectory(elsewhere))
    assert digits(elsewhere) == found


def test_what_was_unpacked_packs_to_the_same_bytes(run: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.taut", tmp_path / "second.taut"
    assert run_command(["pack", str(run), "--out", str(first)]) == 0
    assert run_command(["unpack", str(first), "--out", str(tmp_path / "first")]) == 0

    assert run_command(["pack", str(tmp_path / "first"), "--out", str(second)]) == 0

    assert first.read_bytes() == second.read_bytes()


def test_without_records_the_report_is_the_same_and_nothing_is_lost_by_asking_for_more(
    run: Path, bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not list(bare.rglob("packets.parquet"))
    figures = []
    for path in (run, bare):
        page = path.with_suffix(".html")
        assert run_command(["report", str(path), "--out", str(page)]) == 0
        figures.append(page.read_text().split('id="figures">')[1].split("</script>")[0])
    assert figures[0] == figures[1]

    assert run_command(["report", str(bare), "--again"]) == 2
    assert "not there, so the run cannot be analysed again" in capsys.readouterr().err
    assert run_command(["explain", str(bare)]) == 2
    assert "packets.parquet is not there" in " ".join(capsys.readouterr().out.split())
    assert digits(bare) == digits(run)


def test_what_cannot_be_judged_without_records_is_said_when_they_are_left_out(
    run: Path, bare: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "a.taut")
    assert run_command(["pack", str(run), "--without-records", "--out", file]) == 0
    assert "`taut check` may show less" in " ".join(capsys.readouterr().out.split())

    asked = ["--require", "in_a_row(1s) <= 1000000"]
    assert run_command(["check", str(run), *asked]) == 0
    assert run_command(["check", str(bare), *asked]) == 1


def test_a_run_goes_into_a_file_beside_it_and_out_of_it_into_runs(
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(run, tmp_path / "v1.2")

    assert run_command(["pack", "v1.2"]) == 0
    assert run_command(["unpack", "v1.2.taut"]) == 0

    assert (tmp_path / "runs" / "v1.2" / "results.json").is_file()
    verdict = json.loads((run / "summary.json").read_text())["verdict"]
    assert " ".join(capsys.readouterr().out.split()).count(verdict) == 2
    assert run_command(["unpack", "v1.2.taut"]) == 2
    assert "runs/v1.2: not empty; give --out a new directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("pack nowhere", "nowhere: no such run directory"),
        ("pack empty", "empty: no trials"),
        ("pack raw --out raw/a.taut", "raw/a.taut: inside the run that is packed"),
        ("pack raw --without-records", "raw: not analysed, which takes the records"),
        ("report raw.taut", "raw.taut: a packed run; `taut unpack raw.taut` first"),
        ("compare raw raw.taut", "raw.taut: a packed run; `taut unpack raw.taut` first"),
        ("explain raw.taut", "raw.taut: a packed run; `taut unpack raw.taut` first"),
        ("unpack raw", "raw: a folder; give a file that `taut pack` wrote"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    words: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    make_run(tmp_path / "raw", SMALL[:1], repetitions=1)
    assert run_command(["pack", "raw"]) == 0

    assert run_command(words.split()) == 2

    [line] = capsys.readouterr().err.splitlines()
    assert said in line
