"""A host of which some cores are set apart for somebody else's program."""

from pathlib import Path

import pytest

from check_rows import BY_ID
from host_threads import KERNEL, thread_files
from host_tree import tree
from taut.host.audit import find_situation, run_audit
from taut.host.check import Profile
from taut.host.plan import Choice, make_plan

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
