"""An experiment for commands that are only typed: nothing of it is measured."""

from pathlib import Path

import pytest

TEXT = """
name = "typed"
duration = "1s"
[[device]]
driver = "taut_forward"
name = "eager"
[[traffic]]
rates = ["10kpps"]
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "typed.toml"
    path.write_text(TEXT)
    return path
