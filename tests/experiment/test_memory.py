"""Memory of a process and of those it started, and that freed arrays leave it."""

import subprocess
import sys
from pathlib import Path

from taut.experiment.memory import resident_bytes


def test_memory_is_that_of_taut_and_of_all_it_started(tmp_path: Path) -> None:
    for pid, comm, children in ((1, "python", "2 3"), (2, "taut-forward", "4"), (4, "qemu", "")):
        task = tmp_path / str(pid) / "task" / str(pid)
        task.mkdir(parents=True)
        (task / "children").write_text(children)
        (tmp_path / str(pid) / "statm").write_text(f"999 {pid * 10} 0")
        (tmp_path / str(pid) / "comm").write_text(f"{comm}\n")

    found = resident_bytes(1, tmp_path)

    page = found["taut"] // 10
    assert found == {"taut": 10 * page, "taut-forward": 20 * page, "qemu": 40 * page}


# Of the arrays' own pages alone: what else of a process comes and goes does not count.
HELD = """
import os
import sys
import threading

import numpy as np

from taut.experiment.memory import give_back, keep_little

PAGE = os.sysconf("SC_PAGE_SIZE")


def held_bytes(places):
    held = 0
    with open("/proc/self/pagemap", "rb", buffering=0) as pagemap:  # kernel: admin-guide/mm/pagemap
        for at, size in places:
            pagemap.seek(8 * -(-at // PAGE))
            entries = np.frombuffer(pagemap.read(8 * ((at + size) // PAGE - -(-at // PAGE))), "<u8")
            held += PAGE * np.count_nonzero(entries >> 62)  # in memory, or swapped out
    return held


def places_of(arrays):
    return [(array.ctypes.data, array.nbytes) for array in arrays]


if sys.argv[1:] == ["keep little"]:
    keep_little()
places, pinned = [], []
"""

IN_THREAD = """
rows = threading.Thread(target=arrays_come_and_go)
rows.start()
rows.join()
before = held_bytes(places)
give_back()
print(before, held_bytes(places))
"""

BELOW_ANOTHER = (
    HELD
    + """
def arrays_come_and_go():
    held = [np.full(100_000, 1, np.uint8) for _ in range(40)]
    places.extend(places_of(held))
    pinned.append(np.full(5_000, 1, np.uint8))  # above them: too large for numpy's own cache
"""
    + IN_THREAD
)

AT_THE_END = (
    HELD
    + """
def arrays_come_and_go():
    np.full(8 << 20, 1, np.uint8)  # freed: smaller ones now come from the heap
    held = [np.full(1 << 20, 1, np.uint8) for _ in range(4)]
    places.extend(places_of(held))
"""
    + IN_THREAD
)


def _held(program: str, *words: str) -> list[int]:
    """Bytes of freed arrays that the process holds: before and after it gives back."""
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=True
    )
    return [int(word) for word in done.stdout.split()]


def test_freed_arrays_leave_the_process_once_they_are_given_back() -> None:
    kept, left = _held(BELOW_ANOTHER)
    assert kept > 3 << 20
    assert left == 0


def test_what_is_freed_at_the_end_of_a_thread_s_heap_leaves_the_process_too() -> None:
    _, kept = _held(AT_THE_END)
    _, left = _held(AT_THE_END, "keep little")
    assert kept > 0
    assert left == 0
