"""Programs as they were built, wherever that was."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_CLONE = Path(__file__).resolve().parents[2]
_FOLDERS = [os.environ.get("TAUT_BUILD_DIR"), str(_CLONE / "build"), str(_CLONE / "bin")]


@pytest.fixture(scope="session")
def answer() -> Callable[..., Any]:
    """Run a program of the build and read the JSON it prints."""

    def run(name: str, *arguments: str) -> Any:
        for folder in filter(None, _FOLDERS):
            for path in sorted(Path(folder).rglob(name)):
                if path.is_file():
                    done = subprocess.run([path, *arguments], capture_output=True, check=True)
                    return json.loads(done.stdout)
        pytest.skip(f"{name} is not built; run `make build`")

    return run
