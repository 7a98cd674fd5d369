"""A host of which some cores are set apart for somebody else's program."""

from pathlib import Path

import pytest

from check_rows import BY_ID
from host_threads import KERNEL, thread_files
from host_tree import tree
from taut.core.cpus import CpuSet
from taut.host.apart import BY_APPLY, cores_apart
from taut.host.audit import find_situation, run_audit
from taut.host.check import Profile
from taut.host.host import Host
from taut.host.journal import Journal
from taut.host.journal_lines import Kept
from taut.host.plan import Choice, make_plan
from taut.host.settings.cpuset_partition import CpusetPartition

CPU = "/sys/devices/system/cpu"
MASKS = {
    "workqueue": "/sys/devices/virtual/workqueue/cpumask",
    "new": "/proc/irq/default_smp_affinity",
    "watchdog": "/proc/sys/kernel/watchdog_cpumask",
    "disk": "/proc/irq/36/smp_affinity_list",
}
# Cores 2-5 are somebody's, as the kernel shows it.
OTHERS = (
    {
        f"{CPU}/online": "0-7\n",
        f"{CPU}/isolated": "2-5\n",
        f"{CPU}/nohz_full": "2-5\n",
        MASKS["workqueue"]: "c3\n",
        MASKS["new"]: "c3\n",
        MASKS["watchdog"]: "0-1,6-7\n",
        "/proc/sys/kernel/watchdog": "1\n",
        MASKS["disk"]: "0-1,6-7\n",
        "/proc/irq/36/effective_affinity_list": "6\n",
        "/sys/kernel/irq/36/actions": "nvme0q3\n",
    }
    | thread_files(21, "rcuop/2", "6", flags=KERNEL)
    | thread_files(700, "cc1", "0-1,6")
    | thread_files(701, "theirs", "4-6")
)
CHECKS = [BY_ID[name] for name in ("K12", "K20", "R02", "R07", "R22", "R24")]


def test_nothing_is_moved_onto_cores_that_are_set_apart_for_others(tmp_path: Path) -> None:
    host = tree(tmp_path, OTHERS)
    audit = run_audit(host, find_situation(host, cores=(6, 7)), checks=CHECKS)

    plan = make_plan(host, audit, Profile.RECOMMENDED)

    due = [planned.change for step in plan.of(Choice.TAKE) for planned in step.due]
    assert {change.setting.name: change.wanted for change in due} == {
        MASKS["workqueue"]: "3",
        MASKS["new"]: "3",
        MASKS["watchdog"]: "0-1",
        MASKS["disk"]: "0-1",
        "affinity of rcuop/2 (21)": "0-1",
        "affinity of cc1 (700)": "0-1",
        # What somebody runs on cores of his own stays there.
        "affinity of theirs (701)": "4-5",
    }


# Version 1 of control groups, after an apply for cores 2-3.
GROUPS = "/sys/fs/cgroup/cpuset"
APPLIED = {
    f"{CPU}/online": "0-7\n",
    f"{CPU}/isolated": "\n",
    f"{GROUPS}/cpuset.cpus": "0-7\n",
    f"{GROUPS}/cpuset.sched_load_balance": "0\n",
    f"{GROUPS}/taut/cpuset.cpus": "2-3\n",
    f"{GROUPS}/taut/cpuset.sched_load_balance": "0\n",
    f"{GROUPS}/taut-others/cpuset.cpus": "0-1,4-7\n",
    f"{GROUPS}/taut-others/cpuset.sched_load_balance": "1\n",
}
UNIFIED = {
    f"{CPU}/online": "0-7\n",
    f"{CPU}/isolated": "\n",
    "/sys/fs/cgroup/cpuset.cpus.isolated": "2-3\n",
}


def note_partitions(host: Host, *cores: str) -> None:
    """Note one apply after the other."""
    journal = Journal(host)
    with journal.locked():
        for each in cores:
            journal.begin([("K04-now", Kept(CpusetPartition("taut"), ""), each, ())])


@pytest.mark.parametrize("files", [APPLIED, UNIFIED])
@pytest.mark.parametrize(
    ("cores", "rest"), [((6, 7), (0, 1, 2, 3, 4, 5)), ((3,), (0, 1, 2, 4, 5, 6, 7))]
)
def test_a_second_apply_gives_back_what_the_first_set_apart(
    files: dict[str, str], cores: CpuSet, rest: CpuSet, tmp_path: Path
) -> None:
    host = tree(tmp_path, files)
    note_partitions(host, "2-3")

    assert find_situation(host).cores == (2, 3)
    assert find_situation(host, cores=cores).housekeeping == rest


@pytest.mark.parametrize("files", [{f"{CPU}/isolated": "2\n"}, {f"{CPU}/nohz_full": "2\n"}])
def test_cores_of_an_apply_that_are_set_apart_at_boot_stay_so(
    files: dict[str, str], tmp_path: Path
) -> None:
    host = tree(tmp_path, APPLIED | files)
    note_partitions(host, "2-3")

    assert find_situation(host, cores=(6, 7)).housekeeping == (0, 1, 3, 4, 5)


def test_a_second_apply_is_the_one_that_sets_apart(tmp_path: Path) -> None:
    host = tree(tmp_path, {f"{CPU}/online": "0-7\n"})
    note_partitions(host, "2-3", "6-7")

    assert cores_apart(host) == {6: BY_APPLY, 7: BY_APPLY}


@pytest.mark.parametrize(
    ("files", "rest"),
    [
        ({f"{CPU}/isolated": "2-3\n"}, (0, 4)),
        ({f"{CPU}/isolated": "\n", f"{CPU}/nohz_full": "3-4\n"}, (0, 2)),
        # Where all others are, some have to do the rest.
        ({f"{CPU}/isolated": "0,2-4\n"}, (0, 2, 3, 4)),
        ({}, (0, 2, 3, 4)),
    ],
)
def test_the_rest_is_done_on_cores_that_nobody_set_apart(
    files: dict[str, str], rest: tuple[int, ...], tmp_path: Path
) -> None:
    host = tree(tmp_path, {f"{CPU}/online": "0-4\n"} | files)

    assert find_situation(host, cores=(1,)).housekeeping == rest
