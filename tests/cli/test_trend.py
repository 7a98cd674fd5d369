import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from made_run import VARIANTS, fail_trial, make_run
from taut.cli.main import run_command
from taut.report.comparison import WITHOUT_VOID

N_RUNS = 8
LEFT_OUT = "taut: left out: 1 run that measured no device of made under one of its loads\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight nights of one device, the names in another order than the nights."""
    folder = tmp_path_factory.mktemp("nights")
    for night in range(N_RUNS):
        trial = replace(VARIANTS[1].trial, n_packets=2_000, n_cold=100, seed=night + 1)
        path = make_run(
            folder / f"n{N_RUNS - night}", (replace(VARIANTS[1], trial=trial),), repetitions=1
        )
        change_manifest(
            path,
            started_utc=f"2026-11-{night + 1:02}T00:00:00+00:00",
            taut={"version": "0.1" if night < 5 else "0.2"},
        )
    return folder


def change_manifest(run: Path, **changes: object) -> None:
    path = run / "manifest.json"
    manifest = json.loads(path.read_text())
    for name, value in changes.items():
        manifest[name] = {**manifest[name], **value} if name == "spec" else value
    path.write_text(json.dumps(manifest))


def test_the_verdict_comes_first_and_runs_in_the_order_of_their_time(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["trend", str(folder)]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "No step shown in the median of 8 runs."
    assert [line.split()[0] for line in lines if re.match(r"n\d  ", line)] == [
        f"n{N_RUNS - night}" for night in range(N_RUNS)
    ]
    assert "changed with n3: taut: 0.1 → 0.2" in lines


def test_json_is_one_document_and_out_a_page(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "trend.html"

    assert run_command(["trend", str(folder), "--json", "--out", str(page)]) == 0

    document = json.loads(capsys.readouterr().out)
    assert document["format"] == 1
    assert document["report"] == str(page)
    assert [run["name"] for run in document["runs"]][-1] == "n1"
    changed = [run["changed"] for run in document["runs"] if run["changed"]]
    assert changed == [[{"name": "taut", "before": "0.1", "after": "0.2"}]]
    [series] = document["series"]
    assert len(series["figures_ns"]["p50"]) == N_RUNS
    text = page.read_text(encoding="utf-8")
    assert text.index('class="verdict"') < text.index('<figure id="over-runs-1">')
    assert "taut: 0.1 → 0.2" in text


@pytest.mark.parametrize("more", [(), ("--without-void",)])
def test_packets_that_are_left_out_are_told_wherever_the_trend_is(
    folder: Path, tmp_path: Path, more: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "trend.html"
    command = ["trend", str(folder), *more, "--out", str(page)]

    assert run_command(command) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert run_command([*command, "--json"]) == 0

    left_out = bool(more)
    assert json.loads(capsys.readouterr().out)["without_void"] is left_out
    assert (WITHOUT_VOID in printed) is left_out
    assert (WITHOUT_VOID in page.read_text(encoding="utf-8")) is left_out


def test_another_experiment_among_them_is_one_line_and_2(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = make_run(tmp_path / "other", VARIANTS[3:4], repetitions=1)

    assert run_command(["trend", str(folder / "n1"), str(other)]) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert "different experiments: no device under the same load is in both" in err
    assert err.count("\n") == 1


def test_a_folder_stands_for_the_experiment_of_its_newest_run(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(folder, tmp_path / "runs")
    other = make_run(tmp_path / "runs" / "other", VARIANTS[1:2], repetitions=1)
    change_manifest(other, spec={"name": "another"})

    assert run_command(["trend", str(tmp_path / "runs")]) == 0

    said = capsys.readouterr()
    assert said.out.startswith(f"No step shown in the median of {N_RUNS} runs.")
    assert said.err == LEFT_OUT


def test_a_folder_leaves_out_what_the_experiment_measured_before_it_was_changed(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(folder, tmp_path / "runs")
    before = make_run(tmp_path / "runs" / "before", VARIANTS[3:4], repetitions=1)
    change_manifest(before, started_utc="2026-10-31T00:00:00+00:00")

    assert run_command(["trend", str(tmp_path / "runs")]) == 0

    said = capsys.readouterr()
    assert said.out.startswith(f"No step shown in the median of {N_RUNS} runs.")
    assert said.err == LEFT_OUT


@pytest.mark.parametrize(
    ("night", "status", "said"),
    [
        ("2026-10-31", 0, LEFT_OUT),
        ("2026-12-24", 2, "/bad: no device was measured; see its report, or name the runs "),
    ],
)
def test_a_night_in_which_the_device_failed_is_left_out_unless_it_is_the_last(
    folder: Path,
    tmp_path: Path,
    night: str,
    status: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(folder, tmp_path / "runs")
    bad = make_run(tmp_path / "runs" / "bad", VARIANTS[:2], repetitions=1)
    fail_trial(next(bad.glob("trials/*-eager-*")))
    change_manifest(bad, started_utc=f"{night}T00:00:00+00:00")

    assert run_command(["trend", str(tmp_path / "runs")]) == status

    assert said in capsys.readouterr().err
