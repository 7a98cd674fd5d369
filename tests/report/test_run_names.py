"""Runs are called by as little of their path as tells them apart."""

from pathlib import Path

import pytest

from made_documents import made_analysis
from taut.records.rundir import RunDirectory
from taut.report.run_names import run_names


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["/a/first", "/a/second"], ["first", "second"]),
        (["/a/mine", "/b/mine", "/b/other"], ["a/mine", "b/mine", "other"]),
        (["/17/runs/n", "/18/runs/n", "/18/x/n"], ["17/runs/n", "18/runs/n", "x/n"]),
        (["/a/n", "/a/n"], ["/a/n", "/a/n"]),
    ],
)
def test_names_go_up_until_they_differ(paths, names):
    assert run_names([(RunDirectory(Path(path)), made_analysis()) for path in paths]) == names
