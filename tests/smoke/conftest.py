"""What the smoke tests of a program share."""

import secrets
import subprocess
from collections.abc import Iterator
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


@pytest.fixture
def veth_pair() -> Iterator[tuple[str, str]]:
    """Two ends of one link, both here."""
    first, second = (f"room{secrets.token_hex(2)}{end}" for end in "ab")
    peer = ("type", "veth", "peer", "name", second)
    subprocess.run(["ip", "link", "add", first, *peer], check=True)
    for name in (first, second):
        subprocess.run(["ip", "link", "set", name, "up"], check=True)
    yield first, second
    subprocess.run(["ip", "link", "del", first], check=True)
