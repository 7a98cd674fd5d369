"""Work spread over processes gives what one process gives, and leaves no process behind."""

import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from taut.core.workers import spread
from waiting import wait_for


def test_results_come_in_order() -> None:
    assert list(spread(abs, range(-5, 5))) == [5, 4, 3, 2, 1, 0, 1, 2, 3, 4]


def test_an_error_in_a_process_is_raised_here() -> None:
    with pytest.raises(ValueError, match=r"domain|nonnegative"):
        list(spread(math.sqrt, [4, 1, 0, -1, 9]))


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    """A new process does not run the program's own module again."""
    script = tmp_path / "script.py"
    script.write_text(
        "from taut.core.workers import spread\nprint(list(spread(abs, range(-5, 5))))\n"
    )

    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)

    assert done.stdout == "[5, 4, 3, 2, 1, 0, 1, 2, 3, 4]\n", done.stderr


def test_processes_die_with_a_killed_parent(tmp_path: Path) -> None:
    (tmp_path / "works.py").write_text(
        "import os, time\n"
        "from pathlib import Path\n"
        "def work(folder):\n"
        "    Path(folder, str(os.getpid())).touch()\n"
        "    time.sleep(600)\n"
    )
    script = tmp_path / "parent.py"
    script.write_text(
        "import sys\n"
        "from taut.core.workers import spread\n"
        "from works import work\n"
        "list(spread(work, [sys.argv[1]] * 8))\n"
    )
    at_work = tmp_path / "at_work"
    at_work.mkdir()
    parent = subprocess.Popen([sys.executable, str(script), str(at_work)])
    n = min(len(os.sched_getaffinity(0)), 8)
    wait_for("processes at work", lambda: len(list(at_work.iterdir())) == n)

    parent.send_signal(signal.SIGKILL)
    parent.wait()

    pids = [path.name for path in at_work.iterdir()]
    assert str(parent.pid) in pids  # it works, too
    wait_for(f"an end of {pids}", lambda: not any(_runs(pid) for pid in pids))


def _runs(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text() != ""
    except OSError:
        return False
