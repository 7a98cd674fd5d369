from pathlib import Path

import pytest

from taut.core import binaries
from taut.core.errors import MissingToolError


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "taut-x"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_named_folder_comes_first(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAUT_BIN_DIR", str(program.parent))

    assert binaries.find_binary("taut-x") == program


def test_the_path_is_searched_last(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAUT_BIN_DIR", raising=False)
    monkeypatch.setenv("PATH", str(program.parent))

    assert binaries.find_binary("taut-x") == program


def test_a_missing_program_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAUT_BIN_DIR", str(tmp_path))

    with pytest.raises(MissingToolError, match="taut-x: program not found; run `make build`"):
        binaries.find_binary("taut-x")


def test_a_file_that_is_no_program_is_not_found(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program.chmod(0o644)
    monkeypatch.setenv("TAUT_BIN_DIR", str(program.parent))

    assert binaries.find_binary_or_none("taut-x") is None
