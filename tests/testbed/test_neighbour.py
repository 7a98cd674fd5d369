"""Every neighbour works on its core, says how much by its own counters, and leaves nothing."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from taut.core.errors import TrialError
from taut.testbed.cleanup import kill_processes
from taut.testbed.neighbour import (
    AskedNeighbour,
    NeighbourKind,
    RunningNeighbour,
    Stressor,
    read_work,
    running,
)
from taut.testbed.neighbours import NEIGHBOURS
from taut.testbed.scope import RunScope
from taut.testbed.sessions import Session
from waiting import state_of, wait_for

WORKED_NS = 200_000_000
WRITTEN_BYTES = 1_000_000
BUSY = [kind for kind in NEIGHBOURS.values() if not kind.is_idle]
YAML = """---
system-info:
      stress-ng-version: 0.15.06

metrics:
    - stressor: cache
      bogo-ops: 791832
      wall-clock-time: 6.024131
      user-time: 0.948060
      system-time: 0.024131
      max-rss: 35324
      cache-ops-per-second: 123908340.195531

    - stressor: udp
      bogo-ops: 0
      wall-clock-time: 6.0
...
"""


def asked(kind: NeighbourKind, name: str = "them") -> AskedNeighbour:
    return AskedNeighbour(name, kind, (max(os.sched_getaffinity(0)),), 1)


def worked(neighbour: RunningNeighbour, least_ns: int) -> None:
    """Let it work until it had so much time of the processor: this machine may be busy."""
    session = Session(neighbour.pid)
    before = session.cpu_ns()
    wait_for("the neighbour works", lambda: session.cpu_ns() - before >= least_ns)


def test_its_counters_are_read_as_stress_ng_writes_them(tmp_path: Path) -> None:
    (tmp_path / "work").write_text(YAML)

    cache, udp = read_work(tmp_path / "work")

    assert (cache.stressor, cache.n_operations, cache.elapsed_ns) == ("cache", 791832, 6024131000)
    assert (cache.user_ns, cache.system_ns, cache.max_rss_kib) == (948060000, 24131000, 35324)
    assert cache.rates == {"cache_ops_per_second": 123908340.195531}
    assert (udp.stressor, udp.n_operations, udp.rates) == ("udp", 0, {})


def test_without_a_file_it_did_nothing(tmp_path: Path) -> None:
    assert read_work(tmp_path / "none") == ()


def test_without_the_program_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    assert {kind.missing() for kind in BUSY} == {
        "stress-ng: program not found; apt-get install stress-ng"
    }
    assert NEIGHBOURS["idle"].missing() is None


@pytest.mark.alone
@pytest.mark.root
@pytest.mark.parametrize("kind", BUSY, ids=lambda kind: kind.name)
def test_it_does_what_it_says_on_its_core_and_leaves_nothing(
    kind: NeighbourKind, scope: RunScope, tmp_path: Path
) -> None:
    wanted = asked(kind)
    with running(wanted, tmp_path / "files", tmp_path / "logs", scope) as neighbour:
        session = Session(neighbour.pid)
        neighbour.begin()
        wanted_bytes = session.written_bytes() + 2 * WRITTEN_BYTES
        if kind.writes_files:
            wait_for("bytes reach the disk", lambda: session.written_bytes() > wanted_bytes)
        else:
            worked(neighbour, WORKED_NS)
        allowed: set[int] = set()
        names: set[str] = set()
        for pid in session.pids():
            # One that forks has children that have ended meanwhile.
            with suppress(ProcessLookupError, FileNotFoundError):
                allowed |= os.sched_getaffinity(pid)
                names.add(Path(f"/proc/{pid}/comm").read_text().strip())
        found = neighbour.finish()

    assert allowed == set(wanted.cores)
    assert {f"stress-ng-{stressor.name}"[:15] for stressor in kind.stressors} <= names
    assert [work.stressor for work in found.work] == [one.name for one in kind.stressors]
    assert all(work.n_operations > 0 for work in found.work)
    assert found.written_bytes > WRITTEN_BYTES if kind.writes_files else found.cpu_ns >= WORKED_NS
    assert session.pids() == []
    assert {path.name for path in (tmp_path / "files").iterdir()} == {"neighbour.yaml"}


@pytest.mark.alone
def test_one_that_dies_at_start_says_why_in_one_line(scope: RunScope, tmp_path: Path) -> None:
    kind = NeighbourKind("bad", "asks too much", (Stressor("cache", ("--no-such-option",)),))

    with (
        pytest.raises(TrialError, match="neighbour 'them': died at start: ended with") as raised,
        running(asked(kind), tmp_path / "files", tmp_path / "logs", scope),
    ):
        pass

    assert any("no-such-option" in line for line in raised.value.log_tail)


@pytest.mark.alone
def test_one_that_was_killed_fails_the_trial(scope: RunScope, tmp_path: Path) -> None:
    with running(asked(NEIGHBOURS["cache"]), tmp_path / "f", tmp_path / "l", scope) as neighbour:
        session = Session(neighbour.pid)
        os.kill(neighbour.pid, signal.SIGKILL)
        wait_for("it is dead", lambda: not neighbour.alive())
        with pytest.raises(TrialError, match="'them': died during the trial: killed by SIGKILL"):
            neighbour.finish()

    assert session.pids() == []


@pytest.mark.alone
def test_one_that_was_stopped_did_nothing(scope: RunScope, tmp_path: Path) -> None:
    with running(asked(NEIGHBOURS["cache"]), tmp_path / "f", tmp_path / "l", scope) as neighbour:
        pids = Session(neighbour.pid).pids()
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        wait_for("all stand", lambda: all(state_of(pid) == "T" for pid in pids))
        neighbour.begin()
        time.sleep(0.1)
        with pytest.raises(TrialError, match=r"took 0 ms of its cores in \d+\.\d s"):
            neighbour.finish()


@pytest.mark.alone
def test_what_reaches_no_disk_is_no_neighbour_of_the_disk(scope: RunScope, tmp_path: Path) -> None:
    in_memory = scope.folder / "files"
    if Path("/run").stat().st_dev != Path("/dev/shm").stat().st_dev:
        in_memory = Path("/dev/shm") / f"taut-{scope.id}-disk"
    with running(asked(NEIGHBOURS["disk"]), in_memory, tmp_path / "l", scope) as neighbour:
        neighbour.begin()
        worked(neighbour, 100_000_000)
        with pytest.raises(TrialError, match="no byte reached a disk"):
            neighbour.finish()


@pytest.mark.alone
def test_cleanup_finds_workers_that_overwrote_their_environment(
    scope: RunScope, tmp_path: Path
) -> None:
    with running(asked(NEIGHBOURS["cache"]), tmp_path / "f", tmp_path / "l", scope) as neighbour:
        session = Session(neighbour.pid)
        pids = session.pids()
        said = kill_processes(scope.id)

        assert {f"process {pid}" for pid in pids} <= set(said)
        assert session.pids() == []
