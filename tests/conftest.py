"""What every test may rely on: a marked test is skipped, with the reason, where it cannot run."""

import os

import pytest

from taut.core.binaries import BINARIES, find_binary_or_none

NO_BINARIES = pytest.mark.skip(reason="needs taut's programs: make build")
NO_ROOT = pytest.mark.skip(reason="needs root")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what this user, or this build, cannot run. Acceptance comes last: it takes minutes."""
    built = all(find_binary_or_none(name) for name in BINARIES)
    is_root = os.geteuid() == 0
    for item in items:
        needs_binaries = item.get_closest_marker("smoke") or item.get_closest_marker("acceptance")
        if needs_binaries and not built:
            item.add_marker(NO_BINARIES)
        if item.get_closest_marker("root") and not is_root:
            item.add_marker(NO_ROOT)
    items.sort(key=lambda item: item.get_closest_marker("acceptance") is not None)
