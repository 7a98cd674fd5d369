"""Rows of taut.testing as tests, in tests/host/checks/ beside the tables of host/checks.

The first good and the first bad host of each check stand in docs/reference.md.
"""

import importlib.util
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from taut.host.check import State
from taut.host.checks import CHECKS
from taut.host.table import Check
from taut.testing.rows import CONTAINER as CONTAINER
from taut.testing.rows import GUEST as GUEST
from taut.testing.rows import HOUSEKEEPING as HOUSEKEEPING
from taut.testing.rows import KVM_HOST as KVM_HOST
from taut.testing.rows import NOBODY as NOBODY
from taut.testing.rows import Row as Row
from taut.testing.rows import bad as bad
from taut.testing.rows import good as good
from taut.testing.rows import odd as odd
from taut.testing.rows import skipped as skipped
from taut.testing.rows import unseen as unseen

BY_ID: dict[str, Check] = {check.id: check for check in CHECKS}


def each(rows: Iterable[Row]) -> Callable[..., None]:
    """Give the test of a table of rows."""

    @pytest.mark.parametrize("row", rows, ids=str)
    def test_row(row: Row, tmp_path: Path) -> None:
        row.holds(tmp_path)

    return test_row


def all_rows() -> list[Row]:
    """Give the rows of every table, file by file."""
    rows: list[Row] = []
    for path in sorted((Path(__file__).parent / "host" / "checks").glob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"rows_of_{path.stem}", path)
        if spec is not None and spec.loader is not None:
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            rows += getattr(module, "ROWS", ())
    return rows


def example(rows: Iterable[Row], check: str, state: State) -> str:
    """Give what a check says of its first host in this state; empty where there is none."""
    row = next((row for row in rows if row.check == check and row.state is state), None)
    if row is None:
        return ""
    with TemporaryDirectory() as folder:
        return row.finding(Path(folder)).observed
