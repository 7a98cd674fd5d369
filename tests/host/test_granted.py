"""Pages that runs of taut were granted, behind a change of their number by apply."""

import fcntl
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from host_tree import TreeWriter, put
from taut.host.apply import apply_changes
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings import FileSetting
from taut.host.verify import Standing, verify
from taut.testbed import hugepages
from taut.testbed.owner import HugepageGrant, Owner
from undone_machine import machine, take_back, wishes

POOL = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
NODE = "/sys/devices/system/node/node{}/hugepages/hugepages-2048kB/nr_hugepages"


def reserved(root: Path, path: str = POOL) -> Host:
    """A host on two nodes of which apply reserved 512 pages."""
    host, _ = machine(root)
    for each in (POOL, NODE.format(0), NODE.format(1)):
        put(root, each, "0\n")
    apply_changes(host, TreeWriter(host), wishes(Change(FileSetting(path, "number"), "512")))
    return host


def granted(host: Host, run_id: str, *grants: HugepageGrant, boot: str = "first") -> None:
    """Have a run name its pages, as testbed/scope.py does."""
    folder = host.root / "run/taut" / run_id
    folder.mkdir(parents=True)
    Owner(run_id, os.getpid(), 1, boot, hugepages=grants).write(folder)


def test_pages_of_runs_stay_and_those_of_apply_go(tmp_path: Path) -> None:
    host = reserved(tmp_path)
    granted(host, "ab12", HugepageGrant(POOL, before=512, asked=66, added=66, found=512))
    granted(host, "cd34", HugepageGrant(POOL, before=578, asked=66, added=40, found=512))
    put(tmp_path, POOL, "618\n")
    put(tmp_path, NODE.format(0), "309\n")
    put(tmp_path, NODE.format(1), "309\n")

    assert [one.standing for one in verify(host).changes] == [Standing.IN_FORCE]
    report = take_back(host)

    assert report.is_good
    assert host.read_exactly(POOL) == "106\n"
    assert host.read(NODE.format(0)) == "309"  # the kernel's business
    assert verify(host).changes == []


@pytest.mark.parametrize("left", [20, 66], ids=["some from this node", "all from this node"])
def test_of_one_node_as_many_stay_as_came_from_it(tmp_path: Path, left: int) -> None:
    host = reserved(tmp_path, NODE.format(0))
    granted(host, "ab12", HugepageGrant(POOL, before=512, asked=66, added=66))
    put(tmp_path, NODE.format(0), f"{512 + left}\n")

    assert take_back(host).is_good
    assert host.read(NODE.format(0)) == str(left)


@pytest.mark.parametrize("path", [POOL, NODE.format(0)], ids=["pool", "node"])
@pytest.mark.parametrize(
    ("grant", "boot", "now"),
    [
        (HugepageGrant(POOL, before=512, asked=66, added=66), "first", 600),
        (HugepageGrant(POOL, before=512, asked=66, added=66), "first", 400),
        (HugepageGrant(POOL, before=512, asked=66, added=66), "another", 578),
        (HugepageGrant(POOL, before=0, asked=66, added=66), "first", 578),
    ],
    ids=["more than theirs", "less", "of another boot", "from before apply"],
)
def test_another_number_is_somebody_elses(
    tmp_path: Path, path: str, grant: HugepageGrant, boot: str, now: int
) -> None:
    host = reserved(tmp_path, path)
    granted(host, "ab12", grant, boot=boot)
    put(tmp_path, path, f"{now}\n")

    report = take_back(host)

    assert report.is_refused
    assert [one.setting.name for one in report.strangers] == [path]
    assert host.number(path) == now
    assert [one.standing for one in verify(host).changes] == [Standing.CHANGED]


@pytest.mark.parametrize(
    "ask", [lambda host: take_back(host).is_good, lambda host: verify(host).is_good]
)
def test_the_number_is_judged_while_no_run_changes_it(
    tmp_path: Path, ask: Callable[[Host], bool]
) -> None:
    host = reserved(tmp_path)
    is_good: list[bool] = []
    asked = threading.Thread(target=lambda: is_good.append(ask(host)))

    with hugepages.locked(tmp_path / POOL.lstrip("/")):
        asked.start()
        put(tmp_path, POOL, "578\n")
        asked.join(0.5)
        assert asked.is_alive()
        granted(host, "ab12", HugepageGrant(POOL, before=512, asked=66, added=66))
    asked.join(60)

    assert is_good == [True]


def test_a_run_that_came_meanwhile_leaves_the_host_as_apply_found_it(tmp_path: Path) -> None:
    host = reserved(tmp_path)
    pool = tmp_path / POOL.lstrip("/")
    grant = hugepages.take(hugepages.plan_grant(66, pool))
    granted(host, "ab12", grant)

    assert take_back(host).is_good
    hugepages.give_back(hugepages.plan_return(grant))

    assert host.read(POOL) == "0"


def test_who_measures_on_another_count_waits_for_nobody(tmp_path: Path) -> None:
    host, _ = machine(tmp_path)
    put(tmp_path, POOL, "0\n")
    apply_changes(host, TreeWriter(host), wishes())

    with (tmp_path / POOL.lstrip("/")).open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert take_back(host).is_good
