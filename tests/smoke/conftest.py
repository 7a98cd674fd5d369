"""What the smoke tests of a program share."""

import secrets
from pathlib import Path

import pytest


@pytest.fixture
def run_dir(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where bare memif names live; short, because a socket's path may have 107 characters."""
    folder = tmp_path_factory.mktemp("r")
    monkeypatch.setenv("TAUT_RUN_DIR", str(folder))
    # Others may run these tests on this machine, too.
    monkeypatch.setenv("TAUT_RUN", secrets.token_hex(2))
    return folder
