"""devtools/pass_rate.py: what a test's runs come to in its row, and that a skip is no pass."""

import pytest

from pass_rate import Run, outcome_of, row


@pytest.mark.parametrize(
    ("status", "said", "outcome"),
    [
        (0, "1 passed in 3.21s", "passed"),
        (0, "1 skipped in 0.02s", "skipped"),
        (1, "1 failed in 3.21s", "failed"),
        (1, "1 passed, 1 error in 3.21s", "failed"),
    ],
)
def test_a_run_passed_where_pytest_says_so(status: int, said: str, outcome: str) -> None:
    assert outcome_of(status, said) == outcome


def test_a_row_counts_its_runs_and_gives_the_typical_time() -> None:
    runs = [Run("passed", 2.0), Run("failed", 9.0), Run("passed", 4.0), Run("skipped", 0.1)]

    assert row("tests/a.py::test_b", runs) == "| `tests/a.py::test_b` | 2 of 4, 1 skipped | 3.0 |"
