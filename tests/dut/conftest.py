"""A place to start devices in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from taut.testbed.scope import RunScope


@pytest.fixture
def scope(tmp_path: Path) -> Iterator[RunScope]:
    with RunScope(tmp_path / "base") as scope:
        yield scope
