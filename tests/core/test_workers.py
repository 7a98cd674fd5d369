"""Work spread over processes gives what one process gives, and leaves no process behind."""

import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from taut.core.workers import spread


def test_results_come_in_order() -> None:
    assert list(spread(abs, range(-5, 5))) == [5, 4, 3, 2, 1, 0, 1, 2, 3, 4]


def test_an_error_in_a_process_is_raised_here() -> None:
    with pytest.raises(ValueError, match=r"domain|nonnegative"):
        list(spread(math.sqrt, [4, 1, 0, -1, 9]))


def test_processes_die_with_a_killed_parent(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        "import time\n"
        "from taut.core.workers import spread\n"
        "if __name__ == '__main__':\n"
        "    list(spread(time.sleep, [60] * 8))\n"
    )
    parent = subprocess.Popen([sys.executable, str(script)])
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
    deadline = time.monotonic() + 20
    pids: list[str] = []
    while len(pids) < min(len(os.sched_getaffinity(0)), 2) and time.monotonic() < deadline:
        pids = children.read_text().split()
        time.sleep(0.1)
    time.sleep(1)  # the children have prepared themselves
    pids = children.read_text().split()

    parent.send_signal(signal.SIGKILL)
    parent.wait()

    assert pids or len(os.sched_getaffinity(0)) == 1
    while any(_runs(pid) for pid in pids) and time.monotonic() < deadline + 10:
        time.sleep(0.1)
    assert not [pid for pid in pids if _runs(pid)]


def _runs(pid: str) -> bool:
    try:
        return "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False
