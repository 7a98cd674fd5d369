"""The runs of bench/scale.py: as many packets as were asked for, and a tail with a cause."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import scale
import scale_input
from taut.analysis.results import analyse_run
from taut.records.rundir import RunDirectory


def test_a_trial_again_and_again_is_counted_and_explained_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scale_input, "BLOCK", 20_000)

    run = scale_input.make_scaled_run(tmp_path / "run", 60_000)
    scale_input.add_trace(run, 60_000)

    [trial] = analyse_run(RunDirectory(run)).trials
    assert trial.measured.sums_reconcile
    assert (trial.measured.due, trial.measured.lost, trial.measured.duplicates) == (60_000, 9, 6)
    assert trial.latency().n == 60_000 - 9
    found = trial.explanation
    assert found is not None
    assert [(cause.cause, cause.n_packets) for cause in found.causes] == [("preemption", 57)]
    assert len(found.worst) == 3


def test_parts_are_the_packets_of_the_trial(tmp_path: Path) -> None:
    run = scale_input.make_scaled_run(tmp_path / "run", 20_000)

    parts = scale_input.write_parts(run, tmp_path / "parts", 4)

    assert len(list(parts.iterdir())) == 4
    assert pq.read_table(parts).equals(pq.read_table(trial_folder(run) / "packets.parquet"))


def test_what_is_no_whole_number_of_blocks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="only multiples"):
        scale_input.make_scaled_run(tmp_path / "run", scale_input.BLOCK + 1)


def test_the_cheapest_point_of_a_size_is_shown_and_what_is_missing_is_a_dash() -> None:
    points = [
        scale.Point("report", 1_000, 1.0, 1.8, 90.0),
        scale.Point("duckdb", 10_000, 2.04, 3.06, 1200.4),
        scale.Point("report", 1_000, 9.0, 1.7, 80.0),
    ]

    assert scale.rows_of(points) == (
        ["packets", "report", "duckdb"],
        [["1,000", "9.0 (1.7); 80", "-"], ["10,000", "-", "2.0 (3.1); 1,200"]],
    )


def trial_folder(run: Path) -> Path:
    [folder] = (run / "trials").iterdir()
    return folder
