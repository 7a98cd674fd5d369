from pathlib import Path

import pytest

from host_tree import tree
from taut.host.polling import find_polling


def program(pid: int, *threads: tuple[str, str]) -> dict[str, str]:
    """Give a process by its threads, each with its name and cores; the first is its main one."""
    files = {f"/proc/{pid}/comm": f"{threads[0][0]}\n"}
    for tid, (comm, cores) in enumerate(threads, pid):
        files[f"/proc/{pid}/task/{tid}/comm"] = f"{comm}\n"
        files[f"/proc/{pid}/task/{tid}/status"] = f"Cpus_allowed_list:\t{cores}\n"
    return files


@pytest.mark.parametrize(
    ("threads", "cores"),
    [
        # Open vSwitch: the main thread has the core of dpdk-lcore-mask, and waits.
        ((("ovs-vswitchd", "0"), ("pmd-c02/id:8", "2"), ("pmd-c03/id:9", "3")), (2, 3)),
        ((("ovs-vswitchd", "0-1"), ("pmd8", "2")), (2,)),
        ((("ovs-vswitchd", "0"), ("handler1", "0-3")), None),
        ((("vpp_main", "1"), ("eal-intr-thread", "1"), ("vpp_wk_0", "2")), (2,)),
        # Without workers VPP polls on its main thread.
        ((("vpp_main", "1"),), (1,)),
        ((("reactor_2", "2"), ("reactor_3", "3")), (2, 3)),
        ((("pmdk-server", "2"),), None),
    ],
)
def test_programs_that_poll_are_known_by_their_threads(
    threads: tuple[tuple[str, str], ...], cores: tuple[int, ...] | None, tmp_path: Path
) -> None:
    found = find_polling(tree(tmp_path, program(100, *threads)))

    assert found.processes == (() if cores is None else (100,))
    assert found.cores == (cores or ())
