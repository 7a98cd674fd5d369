from pathlib import Path

import pytest

from taut.core import binaries
from taut.core.errors import MissingToolError
from taut.core.version import taut_version


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "taut-x"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_named_folder_comes_first(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAUT_BIN_DIR", str(program.parent))

    assert binaries.find_binary("taut-x") == program


@pytest.fixture
def on_path(program: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that only PATH has, as where packages are installed."""
    monkeypatch.delenv("TAUT_BIN_DIR", raising=False)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    return program


def test_the_path_is_searched_last(on_path: Path) -> None:
    on_path.write_text(f"#!/bin/sh\necho taut-x {taut_version()}\n")

    assert binaries.find_binary("taut-x") == on_path


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (
            "echo taut-x 0.0.9",
            "of version 0.0.9, taut is of version {0}; install taut-dataplane {0}",
        ),
        (
            "echo something else",
            "no program of taut's, taut is of version {0}; install taut-datapl",
        ),
        ("exit 1", "no program of taut's"),
    ],
)
def test_a_program_of_another_version_is_refused(on_path: Path, answers: str, said: str) -> None:
    on_path.write_text(f"#!/bin/sh\n{answers}\n")

    with pytest.raises(MissingToolError) as refused:
        binaries.find_binary("taut-x")
    assert str(refused.value).startswith(f"{on_path}: {said.format(taut_version())}")
    assert refused.value.exit_status == 2


def test_a_program_that_does_not_start_is_refused(on_path: Path) -> None:
    on_path.write_text("#!/no/such/interpreter\n")

    with pytest.raises(MissingToolError, match=r"taut-x: does not start: .*install taut-dataplane"):
        binaries.find_binary_or_none("taut-x")


def test_outside_of_a_clone_the_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAUT_BIN_DIR", str(tmp_path))
    monkeypatch.setattr(binaries, "_CLONE", tmp_path)

    with pytest.raises(MissingToolError, match="taut-x: program not found; install taut-dataplane"):
        binaries.find_binary("taut-x")


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
