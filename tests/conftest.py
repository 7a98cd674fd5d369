"""What every test may rely on: a marked test is skipped, with the reason, where it cannot run."""

import os
from collections.abc import Iterator

import pytest

import servers
from taut.core.binaries import BINARIES, find_binary_or_none
from taut.storage.engines import ENGINES

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


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL server of the tests' own."""
    if reason := servers.missing_postgres():
        pytest.skip(reason)
    with servers.postgres_server() as url:
        yield url


@pytest.fixture(scope="session")
def spark_url() -> Iterator[str]:
    """A Spark cluster of the tests' own: a master and two workers."""
    if reason := servers.missing_spark():
        pytest.skip(reason)
    with servers.spark_cluster() as url:
        yield url


@pytest.fixture(scope="session", params=ENGINES)
def engine_at(request: pytest.FixtureRequest) -> tuple[str, str | None]:
    """Every engine in turn: its name, and where its server is."""
    name = str(request.param)
    if ENGINES[name].is_embedded:
        return name, None
    return name, str(request.getfixturevalue(f"{name}_url"))
