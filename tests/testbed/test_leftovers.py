"""What dead programs left is found by its name, and only that is removed."""

import os
from pathlib import Path

import pytest

from taut.core.processes import process_start_time
from taut.testbed.leftovers import Places, find_leftovers, probe_name, remove_leftovers

DEAD = f"{2**22 + 1}-1"
"""No process, ever: the kernel gives no number above 2**22 (proc(5), pid_max)."""

HERE = Path("/proc/self/ns/pid").stat().st_ino
"""Our PID namespace; none is number 1."""


@pytest.fixture
def places(tmp_path: Path) -> Places:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        f"cgroup {tmp_path}/memory cgroup rw,memory 0 0\n"
        f"cgroup {tmp_path}/cpu cgroup rw,nosuid,cpu,cpuacct 0 0\n"
        f"cgroup2 {tmp_path}/unified cgroup2 rw 0 0\n"
    )
    processes = {"7": "taut-trace", "8": "taut-inject", "9": "bash"}
    for number, name in processes.items():
        (tmp_path / "proc" / number).mkdir(parents=True)
        (tmp_path / "proc" / number / "comm").write_text(f"{name}\n")
    return Places((tmp_path / "tracing",), mounts, tmp_path / "proc")


def make(tmp_path: Path, *names: str) -> None:
    for name in names:
        (tmp_path / name).mkdir(parents=True)


def test_instances_whose_process_is_dead_or_somebody_else_are_found(
    tmp_path: Path, places: Places
) -> None:
    me = f"{os.getpid()}-{process_start_time(os.getpid())}"
    audits = [f"taut-audit-{me}", f"taut-audit-{DEAD}", f"taut-audit-{me}9-all", "taut-audit-x"]
    audits += [
        f"taut-audit-{me}-{HERE}",
        f"taut-audit-{DEAD}-{HERE}-all",
        f"taut-audit-{DEAD}-1-all",
    ]
    names = ["taut-7", "taut-7-all", "taut-9", "taut-10-all", "taut-x", *audits, "perf"]
    names += [f"taut-7-{HERE}-all", f"taut-9-{HERE}", f"taut-10-{HERE}-all", "taut-10-1-all"]
    make(tmp_path, *(f"tracing/instances/{name}" for name in names))

    found = [str(leftover) for leftover in find_leftovers(places)]

    folder = tmp_path / "tracing/instances"
    left = ["taut-10-all", "taut-9", f"taut-audit-{DEAD}", f"taut-audit-{me}9-all"]
    left += [f"taut-9-{HERE}", f"taut-10-{HERE}-all", f"taut-audit-{DEAD}-{HERE}-all"]
    assert sorted(found) == sorted(f"trace instance {folder}/{name}" for name in left)


def test_control_groups_of_dead_injectors_are_found_in_both_versions(
    tmp_path: Path, places: Places
) -> None:
    make(tmp_path, "tracing/instances", "memory/taut-inject-10")
    make(tmp_path, "cpu/taut-inject-8", "cpu/taut-inject-9", "unified/taut-inject-10", "cpu/other")
    make(tmp_path, f"cpu/taut-inject-8-{HERE}", f"cpu/taut-inject-9-{HERE}", "cpu/taut-inject-10-1")

    found = [leftover.path for leftover in find_leftovers(places)]

    left = ("cpu/taut-inject-9", f"cpu/taut-inject-9-{HERE}", "unified/taut-inject-10")
    assert found == [tmp_path / path for path in left]


def test_of_containers_that_only_tried_a_runtime_those_of_dead_ones_are_found(
    tmp_path: Path, places: Places
) -> None:
    alive = probe_name()
    make(tmp_path, "tracing/instances", f"cpu/taut-probe-{DEAD}", f"memory/{alive}")
    make(tmp_path, f"memory/taut-probe-{DEAD}", "unified/taut-probe-x")
    make(tmp_path, f"unified/taut-probe-{DEAD}-{HERE}", f"unified/taut-probe-{DEAD}-1")

    found = [leftover.path for leftover in find_leftovers(places)]

    left = (
        f"memory/taut-probe-{DEAD}",
        f"cpu/taut-probe-{DEAD}",
        f"unified/taut-probe-{DEAD}-{HERE}",
    )
    assert found == [tmp_path / path for path in left]
    assert alive.endswith(f"-{HERE}")


def test_removing_leaves_what_lives_and_names_only_what_is_gone(
    tmp_path: Path, places: Places
) -> None:
    make(tmp_path, "tracing/instances/taut-7", "tracing/instances/taut-10", "cpu/taut-inject-10")
    # A folder that still holds a process cannot be removed; here, one that holds anything.
    make(tmp_path, "unified/taut-inject-10/busy")

    removed = remove_leftovers(places)

    assert removed == [
        f"trace instance {tmp_path}/tracing/instances/taut-10",
        f"control group {tmp_path}/cpu/taut-inject-10",
    ]
    assert (tmp_path / "tracing/instances/taut-7").is_dir()
    assert (tmp_path / "unified/taut-inject-10").is_dir()


@pytest.mark.parametrize(
    ("folder", "quota", "unlimited"),
    [("cpu", "cpu.cfs_quota_us", "-1"), ("unified", "cpu.max", "max")],
)
def test_the_victim_of_a_dead_injector_leaves_its_group_without_a_quota(
    tmp_path: Path, places: Places, folder: str, quota: str, unlimited: str
) -> None:
    make(tmp_path, f"{folder}/taut-inject-10", f"{folder}/taut-inject-8")
    for group in ("taut-inject-10", "taut-inject-8"):
        (tmp_path / folder / group / "cgroup.procs").write_text("4711\n")
        (tmp_path / folder / group / quota).write_text("1000\n")

    remove_leftovers(places)

    assert (tmp_path / folder / "cgroup.procs").read_text() == "4711"
    assert (tmp_path / folder / "taut-inject-10" / quota).read_text() == unlimited
    assert (tmp_path / folder / "taut-inject-8" / quota).read_text() == "1000\n"


def test_the_victims_threads_keep_their_cores(
    tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which the kernel forgets where the group above has another cpuset (before Linux 6.2)."""
    make(tmp_path, "unified/taut-inject-10", "proc/4711/task/4711", "proc/4711/task/4712")
    (tmp_path / "unified/taut-inject-10/cgroup.procs").write_text("4711\n")
    home = tmp_path / "unified/cgroup.procs"
    before, wide = {4711: {0, 1, 2}, 4712: {1}}, {0, 1, 2}
    bound: dict[int, set[int]] = {}

    def affinity(thread: int) -> set[int]:
        return bound.get(thread, wide if home.exists() else before[thread])

    monkeypatch.setattr(os, "sched_getaffinity", affinity)
    monkeypatch.setattr(os, "sched_setaffinity", bound.__setitem__)

    remove_leftovers(places)

    assert home.read_text() == "4711"
    assert bound == {4712: {1}}


def test_a_machine_without_tracefs_or_control_groups_has_none(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"

    assert find_leftovers(Places((nowhere,), nowhere, nowhere)) == []
