"""What every test may rely on: a marked test is skipped, with the reason, where it cannot run."""

import os
import signal
from collections.abc import Callable, Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import servers
from documents_by_schema import check_folders
from skips import fail_unless_allowed
from stages import STAGES, Part, comes_first, company_of, hand_of, may_hold, stage_of
from taut.core.binaries import BINARIES, find_binary_or_none
from taut.core.cpus import cpuset_cores
from taut.storage.engines import ENGINES
from taut.testbed.scope import RunScope
from terminal import Terminal

NO_BINARIES = pytest.mark.skip(reason="needs taut's programs: make build")
NO_ROOT = pytest.mark.skip(reason="needs root")

# What a script starts in the background ignores Ctrl-C, and what that starts does, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Cores are asked for, not inherited: of a shell that `taut host apply` moved, say.
os.sched_setaffinity(0, cpuset_cores())

# How fast examples come is the machine's doing, and so is how long one takes.
settings.register_profile("taut", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("taut")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--stage", choices=STAGES, help="only the tests of this stage of make test")
    parser.addoption("--all", action="store_true", help="with --stage beside: what is long, too")
    parser.addoption(
        "--part", type=Part.parse, metavar="K/N", help="of what takes long only this part"
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    part: Part | None = config.getoption("--part")
    return part and f"of what takes long: part {part.number} of {part.n_parts} (--part)"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files that have no test of the stage that is asked for."""
    stage = config.getoption("--stage")
    if stage is None or collection_path.suffix != ".py":
        return None
    return None if _may_hold(collection_path, stage) else True


@cache
def _may_hold(file: Path, stage: str) -> bool:
    return may_hold(file.read_text(encoding="utf-8"), stage)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what this user, or this build, cannot run; leave out tests of other stages.

    What takes longest comes first where several processes share the tests; acceptance comes last.
    """
    built = all(find_binary_or_none(name) for name in BINARIES)
    is_root = os.geteuid() == 0
    for item in items:
        if not _may_hold(item.path, _stage(item)):
            raise pytest.UsageError(f"{item.nodeid}: its mark must stand in its own file")
        needs_binaries = item.get_closest_marker("smoke") or item.get_closest_marker("acceptance")
        if needs_binaries and not built:
            item.add_marker(NO_BINARIES)
        if item.get_closest_marker("root") and not is_root:
            item.add_marker(NO_ROOT)
    items.sort(key=lambda item: (_is_last(item), not comes_first(item.nodeid)))
    asked = config.getoption("--stage")
    takes_long = asked in (None, "long") or config.getoption("--all")
    _keep(config, items, lambda item: asked in (None, _stage(item)))
    _keep(config, items, lambda item: takes_long or not item.get_closest_marker("long"))
    if part := config.getoption("--part"):
        dealt = part.of({hand for item in items if (hand := _hand(item))})
        _keep(config, items, lambda item: _hand(item) in {None, *dealt})


def _keep(
    config: pytest.Config, items: list[pytest.Item], is_kept: Callable[[pytest.Item], bool]
) -> None:
    config.hook.pytest_deselected(items=[item for item in items if not is_kept(item)])
    items[:] = filter(is_kept, items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Hold the documents that a test left to their schemas."""
    yield
    check_folders(getattr(item, "funcargs", {}))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where CI is set no skip passes but for a missing component."""
    report = yield
    if os.environ.get("CI"):
        fail_unless_allowed(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Nor that of a whole file."""
    report = yield
    if os.environ.get("CI"):
        fail_unless_allowed(report)
    return report


def _stage(item: pytest.Item) -> str:
    return stage_of(mark.name for mark in item.iter_markers())


def _hand(item: pytest.Item) -> str | None:
    return hand_of(item.nodeid, {mark.name for mark in item.iter_markers()})


def _is_last(item: pytest.Item) -> bool:
    return _stage(item) == "alone" and item.get_closest_marker("acceptance") is not None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give a process all tests of a company, one after the other."""
    from xdist.scheduler import LoadScopeScheduling

    class ByCompany(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return company_of(nodeid)

    return ByCompany(config, log)


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """One whose width a test sets."""
    return Terminal(capsys, monkeypatch)


@pytest.fixture
def scope(tmp_path: Path) -> Iterator[RunScope]:
    """A place to start programs in."""
    with RunScope(tmp_path / "base") as scope:
        yield scope


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
