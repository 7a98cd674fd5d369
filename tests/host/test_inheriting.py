"""Threads started while an apply was in force, by threads that it had moved."""

import errno
from dataclasses import replace
from pathlib import Path

import pytest

from host_tree import TreeWriter, tree
from taut.host.host import Host
from taut.host.inheriting import InheritingThread, find_inheriting, give_back
from taut.host.journal_lines import Entry
from taut.host.settings import PlacedFile, ThreadAffinity

ENTRY = Entry(
    generation=1,
    index=0,
    remedy="R24-now",
    setting=ThreadAffinity(100, "bash", 50),
    old="0-3",
    wanted="0-1",
    side_effects=(),
    machine="me",
    boot="now",
    uptime_ticks=1000,
)
SHELL = (100, 1, "0-3", 50)
"""As it is once undo has put its cores back."""


def threads(*rows: tuple[int, int, str, int]) -> dict[str, str]:
    """Give the files of processes of one thread: number, parent, cores, start."""
    files = {}
    for number, parent, cores, start_ticks in rows:
        status = f"Name:\tx{number}\nTgid:\t{number}\nPid:\t{number}\nPPid:\t{parent}\n"
        status += f"Cpus_allowed_list:\t{cores}\n"
        files |= {
            f"/proc/{number}/stat": f"{number} (a b) S {'1 ' * 18}{start_ticks} 0\n",
            f"/proc/{number}/status": status,
            f"/proc/{number}/task/{number}/status": status,
        }
    return files


def cores_of(host: Host, number: int) -> str:
    return host.fields(f"/proc/{number}/status")["Cpus_allowed_list"]


def numbers(found: list[InheritingThread]) -> list[int]:
    return [one.setting.thread for one in found]


def test_only_younger_descendants_on_the_same_cores_inherit(tmp_path: Path) -> None:
    rows = (
        SHELL,
        (101, 100, "0-1", 2000),  # a child
        (102, 101, "0-1", 2000),  # a grandchild
        (103, 100, "0-1", 900),  # was there before
        (104, 100, "2", 2000),  # chose its own
        (105, 1, "0-1", 2000),  # of somebody else
    )
    host = tree(tmp_path, threads(*rows) | {"/proc/106/task/106/status": "nonsense\n"})

    assert numbers(find_inheriting(host, [ENTRY])) == [101, 102]


@pytest.mark.parametrize("shell", [(100, 1, "0-1", 3000), (100, 1, "0-1", 60)])
def test_a_later_thread_of_the_number_of_one_that_was_moved_is_another(
    shell: tuple[int, int, str, int], tmp_path: Path
) -> None:
    host = tree(tmp_path, threads(shell, (101, 100, "0-1", 4000)))

    assert find_inheriting(host, [ENTRY]) == []


def test_who_chose_its_cores_before_its_parent_was_moved_keeps_them(tmp_path: Path) -> None:
    """Whatever else was applied before, in this boot or another."""
    host = tree(tmp_path, threads(SHELL, (101, 100, "0-1", 500), (102, 100, "0-2", 500)))
    placed = replace(ENTRY, setting=PlacedFile("/etc/a"), boot="older", uptime_ticks=100)
    first = replace(ENTRY, wanted="0-2", uptime_ticks=200)
    second = replace(ENTRY, generation=2, old="0-2")

    found = find_inheriting(host, [second, first, placed])

    assert numbers(found) == [102]


def test_where_no_thread_was_moved_nobody_looks(tmp_path: Path) -> None:
    assert find_inheriting(tree(tmp_path, threads((101, 100, "0-1", 2000))), []) == []


def test_cores_that_were_inherited_become_those_of_the_thread_they_are_from(
    tmp_path: Path,
) -> None:
    """After two applies: what was there before the first."""
    host = tree(tmp_path, threads(SHELL, (101, 100, "0-2", 2000), (102, 100, "0-1", 3000)))
    first = replace(ENTRY, wanted="0-2")
    second = replace(ENTRY, generation=2, old="0-2", uptime_ticks=2500)

    widened, left = give_back(host, TreeWriter(host), [second, first])

    assert (numbers(widened), left) == ([101, 102], [])
    assert [cores_of(host, number) for number in (101, 102)] == ["0-3", "0-3"]


def test_a_single_core_may_be_chosen_so_it_stays_and_is_named(tmp_path: Path) -> None:
    host = tree(tmp_path, threads(SHELL, (101, 100, "0", 2000)))

    widened, left = give_back(host, TreeWriter(host), [replace(ENTRY, wanted="0")])

    assert (widened, numbers(left)) == ([], [101])
    assert cores_of(host, 101) == "0"


def test_what_the_kernel_bound_meanwhile_is_left_alone(tmp_path: Path) -> None:
    host = tree(tmp_path, threads(SHELL, (101, 100, "0-1", 2000)))
    writer = TreeWriter(host, {"affinity 101": errno.EINVAL})

    assert give_back(host, writer, [ENTRY]) == ([], [])
