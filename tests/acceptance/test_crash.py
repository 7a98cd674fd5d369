"""Acceptance 6: whatever a killed taut leaves, the next `taut doctor --clean` removes."""

import os
import random
import re
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from acceptance_run import children_of, started
from taut.cli.main import run_command
from taut.dut.drivers import DRIVERS
from taut.testbed.cleanup import live_runs
from taut.testbed.control_groups import find_groups
from taut.testbed.placements.container import ContainerOptions, ContainerPlacement
from taut.testbed.scope import default_base
from waiting import ran_s, wait_for

pytestmark = [pytest.mark.acceptance, pytest.mark.root]

SPEC = """
name = "crash"
duration = "300ms"
warm_up = "100ms"
deadline = "100ms"
repetitions = 20
[[device]]
driver = "linux_bridge"
[[device]]
driver = "taut_forward"
[[device]]
driver = "taut_forward"
name = "afxdp"
link = "xdp"
[[traffic]]
rates = ["20kpps"]
"""
CONTAINERS = """
name = "crash-contained"
duration = "300ms"
warm_up = "100ms"
deadline = "100ms"
repetitions = 20
floor = false
[[device]]
driver = "taut_forward"
[[device]]
driver = "chain"
[[device]]
driver = "taut_forward"
name = "veth"
link = "veth"
[[placement]]
name = "container"
[[traffic]]
rates = ["20kpps"]
"""
ONE = """
name = "crash-other"
duration = "20s"
warm_up = "100ms"
deadline = "100ms"
repetitions = 1
floor = false
[[device]]
driver = "NAME"
[[traffic]]
rates = ["20kpps"]
"""
NR_HUGEPAGES = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
MARK = "TAUT_ACCEPTANCE_CRASH"


def machine_state() -> dict[str, Any]:
    """What a run touches, without what runs of others that are alive now own."""
    others = {owner.run_id for owner in live_runs(default_base())}

    def names(folder: str) -> list[str]:
        path = Path(folder)
        found = [entry.name for entry in path.iterdir()] if path.is_dir() else []
        return sorted(
            name
            for name in found
            if not any(run in name for run in others)
            # Programs started by hand name themselves by their pid (DPDK leaves the folder).
            and not re.fullmatch(r"taut-\d+", name)
            # Shared memory of other people's servers.
            and not name.startswith("PostgreSQL.")
        )

    state: dict[str, Any] = {
        folder: names(folder)
        for folder in ("/run/netns", "/sys/class/net", "/dev/hugepages", "/dev/shm", "/run/dpdk")
    }
    state["mounts"] = [
        line for line in Path("/proc/mounts").read_text().splitlines() if "hugetlbfs" in line
    ]
    state["groups"] = [
        str(path)
        for path in find_groups("taut-*")
        if not any(f"taut-{run}-" in path.name for run in others)
    ]
    state["runs"] = [name for name in names(str(default_base())) if not name.startswith(".lock")]
    if not others:
        state["nr_hugepages"] = NR_HUGEPAGES.read_text()
    return state


def marked_processes(mark: str) -> list[int]:
    """Processes of one test run, by their environment."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                environment = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if wanted in environment:
                found.append(int(entry.name))
    return found


def clean() -> None:
    # In this process: its start takes longer than the cleaning, and proves nothing here.
    assert run_command(["doctor", "--clean"]) in (0, 1)


NO_CONTAINER = ContainerPlacement().missing(ContainerOptions())

# One kill of taut, one of its whole tree; the other eight take a minute.
SOON = (1, 4)


@pytest.mark.parametrize(
    "attempt",
    [*SOON, *(pytest.param(n, marks=pytest.mark.long) for n in range(10) if n not in SOON)],
)
def test_6_nothing_is_left_after_kill_9(tmp_path: Path, attempt: int):
    clean()
    before = machine_state()
    # Seeded, so that a moment that leaves something can be tried again.
    moment_s = random.Random(attempt).uniform(0.8, 7)

    with started(tmp_path, SPEC, **{MARK: f"{attempt}-{os.getpid()}"}) as taut:
        time.sleep(moment_s)
        assert taut.poll() is None, taut.stderr.read() if taut.stderr else ""
        # Every second time the whole tree at once; else its children have to notice.
        tree = children_of(taut.pid) if attempt % 2 else []
        for pid in (taut.pid, *tree):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        taut.wait()
    clean()

    assert_as(before)
    wait_for("an end of all", lambda: marked_processes(f"{attempt}-{os.getpid()}") == [])
    assert not list(tmp_path.glob("run/trials/.tmp-*"))


@pytest.mark.skipif(NO_CONTAINER is not None, reason=str(NO_CONTAINER))
@pytest.mark.parametrize(
    "attempt", [SOON[0], *(pytest.param(n, marks=pytest.mark.long) for n in range(2, 11))]
)
def test_7_nothing_is_left_of_containers_either(tmp_path: Path, attempt: int):
    clean()
    before = machine_state()
    mark = f"contained-{attempt}-{os.getpid()}"

    with started(tmp_path, CONTAINERS, **{MARK: mark}) as taut:
        wait_for("a container", lambda: find_groups("taut-*-c1"))
        time.sleep(random.Random(attempt).uniform(0, 2))
        assert taut.poll() is None, taut.stderr.read() if taut.stderr else ""
        tree = children_of(taut.pid) if attempt % 2 else []
        for pid in (taut.pid, *tree):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        taut.wait()
    clean()

    assert_as(before)
    wait_for("an end of all", lambda: marked_processes(mark) == [])


@pytest.mark.parametrize(
    "driver",
    ["ovs_dpdk", *(pytest.param(n, marks=pytest.mark.long) for n in ("suricata", "snort"))],
)
def test_8_nothing_is_left_of_a_device_of_another_project(tmp_path: Path, driver: str):
    device = DRIVERS[driver]
    lacks = device.missing(device.options_type())
    if lacks is not None:
        pytest.skip(lacks)
    clean()
    before = machine_state()
    mark = f"{driver}-{os.getpid()}"

    with started(tmp_path, ONE.replace("NAME", driver), **{MARK: mark}) as taut:
        # The device and the generator beside it: the daemon of a switch has its database, too.
        wait_for("a trial", lambda: len(children_of(taut.pid)) >= 2 + (driver == "ovs_dpdk"))
        taut.kill()
        taut.wait()
    clean()

    assert_as(before)
    wait_for("an end of all", lambda: marked_processes(mark) == [])


@pytest.mark.long
def test_6_nothing_is_left_of_the_analysis_either(tmp_path: Path):
    clean()
    before = machine_state()
    mark = f"analysis-{os.getpid()}"

    # With the floors there are trials enough for helpers.
    with started(tmp_path, SPEC, "--set", "repetitions=1", draw=True, **{MARK: mark}) as taut:
        assert taut.stderr is not None
        assert any("analysing" in line for line in taut.stderr)
        if len(os.sched_getaffinity(0)) > 1:  # else it has no helpers
            wait_for("helpers", lambda: any(has_worked(pid) for pid in children_of(taut.pid)))
        for pid in (taut.pid, *children_of(taut.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        taut.wait()
    clean()

    assert_as(before)
    wait_for("an end of all", lambda: marked_processes(mark) == [])


def has_worked(pid: int) -> bool:
    try:
        return ran_s(pid) > 0.1
    except OSError:
        return False  # it has ended


def assert_as(before: dict[str, Any]) -> None:
    """Compare, with patience: helpers of runs of others come and go."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        after = machine_state()
        common = before.keys() & after.keys()
        if all(before[key] == after[key] for key in common):
            return
        time.sleep(0.1)
    assert {key: after[key] for key in common} == {key: before[key] for key in common}


def test_6_whole_trials_survive_and_the_run_can_be_completed(tmp_path: Path):
    arguments = ("--set", "repetitions=1", "--set", "floor=false")
    with started(tmp_path, SPEC, *arguments) as taut:
        wait_for("a whole trial", lambda: list(tmp_path.glob("run/trials/[0-9]*")), 120)
        taut.kill()
        taut.wait()
    whole = {path.name: path.stat().st_ino for path in tmp_path.glob("run/trials/[0-9]*")}

    with started(tmp_path, SPEC, *arguments, "--resume") as taut:
        _, stderr = taut.communicate(timeout=120)

    assert taut.returncode == 0, stderr
    assert f"{len(whole)} of them whole from before" in stderr
    trials = {path.name: path.stat().st_ino for path in (tmp_path / "run/trials").iterdir()}
    assert len(trials) == 3
    assert whole.items() <= trials.items()
