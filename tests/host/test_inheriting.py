from pathlib import Path

from host_tree import tree
from taut.host.inheriting import find_inheriting
from taut.host.journal_lines import Entry
from taut.host.settings import ThreadAffinity

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


def thread(number: int, parent: int, cores: str, start_ticks: int) -> dict[str, str]:
    stat = f"{number} (a b) S {'1 ' * 18}{start_ticks} 0\n"
    status = f"Name:\tx{number}\nTgid:\t{number}\nPid:\t{number}\nPPid:\t{parent}\n"
    return {
        f"/proc/{number}/stat": stat,
        f"/proc/{number}/task/{number}/status": f"{status}Cpus_allowed_list:\t{cores}\n",
    }


def test_only_younger_descendants_on_the_same_cores_inherit(tmp_path: Path) -> None:
    host = tree(
        tmp_path,
        thread(100, 1, "0-3", 50)
        | thread(101, 100, "0-1", 2000)  # a child
        | thread(102, 101, "0-1", 2000)  # a grandchild
        | thread(103, 100, "0-1", 900)  # was there before
        | thread(104, 100, "2", 2000)  # chose its own
        | thread(105, 1, "0-1", 2000)  # of somebody else
        | {"/proc/106/task/106/status": "nonsense\n"},
    )

    assert [one.thread for one in find_inheriting(host, [ENTRY])] == [101, 102]


def test_where_no_thread_was_moved_nobody_looks(tmp_path: Path) -> None:
    assert find_inheriting(tree(tmp_path, thread(101, 100, "0-1", 2000)), []) == []
