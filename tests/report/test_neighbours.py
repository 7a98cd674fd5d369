"""The table of what neighbours did, from the documents of their trials."""

import json
import shutil
from dataclasses import replace

import pytest

from taut.records.rundir import RunDirectory
from taut.report.neighbours import COLUMNS, rows_of


def did(share: float, operations: int, written: int = 0):
    return {
        "name": "cache",
        "kind": "cache",
        "cores": [2, 3],
        "elapsed_ns": 10**9,
        "cpu_ns": int(share * 10**9),
        "written_bytes": written,
        "work": [{"stressor": "cache", "n_operations": operations, "elapsed_ns": 2 * 10**9}],
    }


@pytest.fixture
def beside(analysed, tmp_path):
    """Give a run whose first three whole trials had a neighbour that did this."""
    run, analysis = analysed

    def make(*of):
        copy = RunDirectory(shutil.copytree(run.path, tmp_path / "run"))
        whole = [trial for trial in copy.trials() if trial.is_whole]
        for trial, one in zip(whole, of, strict=False):
            path = trial.path / "trial.json"
            path.write_text(json.dumps(json.loads(path.read_text()) | {"neighbour": one}))
        result = analysis.trials[0]
        beside = replace(result, device=replace(result.device, neighbour="cache"))
        return [(copy, replace(analysis, trials=(beside, *analysis.trials[1:])))]

    return make


def test_a_neighbour_is_a_row_with_the_medians_of_its_trials(beside):
    rows = rows_of(beside(did(0.5, 200), did(1.0, 4_000), did(0.75, 2_400)))

    assert rows == [["cache", "2-3", "75 %", "3", "cache 1,200", ""]]
    assert len(rows[0]) == len(COLUMNS)


@pytest.mark.parametrize(("share", "words"), [(1, "100 %"), (1.04, "104 %"), (14, "1,400 %")])
def test_one_that_took_several_cores_has_more_than_a_core(beside, share, words):
    [row] = rows_of(beside(did(share, 10)))

    assert row[2] == words


@pytest.mark.parametrize(
    ("written", "words"), [(14_500_000, "14.5 MB"), (1_536_000_000, "1,540 MB")]
)
def test_what_it_wrote_is_told_where_it_is_more_than_a_log(beside, written, words):
    [row] = rows_of(beside(did(0.02, 10, written)))

    assert row[-1] == words


def test_one_on_other_cores_is_another_row(beside):
    rows = rows_of(beside(did(0.5, 200), did(0.5, 200) | {"cores": [1]}))

    assert [row[1] for row in rows] == ["2-3", "1"]


def test_a_run_without_neighbours_has_none(analysed):
    assert rows_of([analysed]) == []
