"""What tests of the whole do to a machine, and take back."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from taut.cli.main import run_command
from taut.host.host import Host
from taut.host.journal import Journal


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk that is soon full."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def untouched_machine() -> Iterator[None]:
    """This machine as taut never changed it, and so it is left."""
    if Journal(Host()).is_there:
        pytest.skip("this machine has a journal: taut host undo")
    yield
    run_command(["doctor", "--clean"])
    run_command(["host", "undo"])
