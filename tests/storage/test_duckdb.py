"""What DuckDB alone must do: say in one line that it has no room for what it cannot keep."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from taut.core.errors import InputError
from taut.storage.engines import duckdb, open_engine

SORTED = "SELECT i, hash(i) AS h FROM range(20_000_000) AS t(i) ORDER BY h"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(tmp_path)], check=True)
    yield tmp_path
    subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


@pytest.mark.root
@pytest.mark.beside
def test_a_full_disk_is_one_line_and_nothing_is_left(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(small_disk))
    monkeypatch.setattr(duckdb, "MEMORY_LIMIT", "64MB")

    with (
        pytest.raises(InputError, match=r"engine duckdb: .*; .*set TMPDIR to another$") as caught,
        open_engine("duckdb") as engine,
    ):
        engine.materialise("t", SORTED)

    assert "\n" not in str(caught.value)
    assert list(small_disk.iterdir()) == []


def test_a_folder_for_what_does_not_fit_may_have_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "it's mine"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))

    with open_engine("duckdb") as engine:
        [[setting]] = engine.query("SELECT current_setting('temp_directory')").to_pydict().values()

    assert setting.startswith(str(folder))
