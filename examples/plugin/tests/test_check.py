"""The check does what every check of taut does, and judges these hosts."""

from pathlib import Path

import pytest
from taut.testing import checks
from taut.testing.rows import Row, bad, good, unseen
from taut_example.check import SOCK01

BUFFER = "/proc/sys/net/core/rmem_default"
ROWS = (
    good("SOCK01", {BUFFER: "1048576\n"}),
    bad("SOCK01", {BUFFER: "212992\n"}, remedies="now", does=("= 1048576",), mends=True),
    unseen("SOCK01", {BUFFER: "plenty\n"}),
)


def test_it_conforms(tmp_path: Path) -> None:
    checks.conforms(SOCK01, tmp_path)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_host_is_judged(row: Row, tmp_path: Path) -> None:
    row.holds(tmp_path)
