"""What every kind of placement must say of itself."""

import os
from pathlib import Path

import pytest

from taut.testbed.placement import PlacementKind
from taut.testbed.placements import PLACEMENTS
from taut.testing import placements


@pytest.mark.parametrize("kind", PLACEMENTS.values(), ids=PLACEMENTS.keys())
def test_a_placement_describes_itself_and_refuses_other_options(
    kind: PlacementKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whose version is asked for fetches what it has not kept.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "apt-get").write_text("#!/bin/sh\nexit 100\n")
    (tmp_path / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    placements.conforms(kind)
