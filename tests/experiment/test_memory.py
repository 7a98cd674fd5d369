"""Memory of a process and of those it started, and that freed arrays leave it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

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


SAID: dict[str, Any] = {"capture_output": True, "text": True, "check": True}

FREED = """
import os
import threading

import numpy as np

from taut.experiment.memory import give_back, resident_bytes

pinned = []


def arrays_come_and_go():
    held = [np.full(100_000, 1, np.uint8) for _ in range(40)]
    pinned.append(np.full(5_000, 1, np.uint8))  # above them: too large for numpy's own cache
    del held


before = resident_bytes(os.getpid())["taut"]
rows = threading.Thread(target=arrays_come_and_go)
rows.start()
rows.join()
freed = resident_bytes(os.getpid())["taut"]
give_back()
print(freed - before, resident_bytes(os.getpid())["taut"] - before)
"""


def test_freed_arrays_leave_the_process_once_they_are_given_back() -> None:
    done = subprocess.run([sys.executable, "-c", FREED], **SAID)

    kept, left = map(int, done.stdout.split())
    assert kept > 3 << 20
    assert left < 1 << 20


AT_THE_END = """
import os
import sys
import threading

import numpy as np

from taut.experiment.memory import give_back, keep_little, resident_bytes

left = []


def arrays_come_and_go():
    np.full(8 << 20, 1, np.uint8)  # freed: smaller ones now come from the heap
    before = resident_bytes(os.getpid())["taut"]
    held = [np.full(1 << 20, 1, np.uint8) for _ in range(4)]
    del held
    give_back()
    left.append(resident_bytes(os.getpid())["taut"] - before)


if sys.argv[1:] == ["keep little"]:
    keep_little()
rows = threading.Thread(target=arrays_come_and_go)
rows.start()
rows.join()
print(*left)
"""


def test_what_is_freed_at_the_end_of_a_thread_s_heap_leaves_the_process_too() -> None:
    kept, left = (
        int(subprocess.run([sys.executable, "-c", AT_THE_END, *words], **SAID).stdout)
        for words in ([], ["keep little"])
    )

    # An array of 1 MiB, or none of it; a few pages come and go besides.
    assert kept > 1 << 19
    assert left < 1 << 18
