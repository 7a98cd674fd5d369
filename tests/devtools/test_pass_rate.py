"""devtools/pass_rate.py: what a test's runs come to in its row, and that a skip is no pass."""

from pathlib import Path

import pytest

from pass_rate import Run, read_runs, row, run_file, runs_in, table

FILE = "tests/a.py"


@pytest.mark.parametrize(
    ("ends", "outcome"),
    [
        ("", "passed"),
        ("<skipped/>", "skipped"),
        ("<failure/>", "failed"),
        ("<error/>", "failed"),
        ("<skipped/><error/>", "failed"),
    ],
)
def test_a_run_passed_where_pytest_says_so(ends: str, outcome: str) -> None:
    case = f'<testcase classname="tests.a" name="test_b[1]" time="2.5">{ends}</testcase>'
    report = f"<testsuites><testsuite>{case}</testsuite></testsuites>"

    assert list(runs_in(report, FILE)) == [Run("tests/a.py::test_b[1]", outcome, 2.5)]


def test_outcomes_are_read_from_what_pytest_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "test_three.py"
    file.write_text(
        "import pytest\n"
        "pytestmark = pytest.mark.timing\n"
        "def test_good(): pass\n"
        "def test_bad(): assert 'this' == 'that'\n"
        "def test_absent(): pytest.skip('no core')\n"
    )

    runs = run_file(str(file), [])

    assert [run.outcome for run in runs] == ["passed", "failed", "skipped"]
    assert "'this' == 'that'" in capsys.readouterr().err


def test_a_row_counts_its_runs_and_gives_the_typical_time() -> None:
    test = f"{FILE}::test_b"
    ends = [("passed", 2.0), ("failed", 9.0), ("passed", 4.0), ("skipped", 0.1)]
    runs = [Run(test, *end) for end in ends]

    assert row(test, runs) == "| `tests/a.py::test_b` | 2 of 4, 1 skipped | 3.0 |"
    assert list(table(runs))[2:] == [row(test, runs)]


def test_a_series_that_has_not_begun_is_empty(tmp_path: Path) -> None:
    assert read_runs(tmp_path / "none.jsonl") == []
