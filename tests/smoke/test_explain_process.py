"""`taut explain PID`: a process that keeps no log of its gaps."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acceptance_run import TAUT
from foreign_program import running
from traceable import skip_if_untraceable
from waiting import least_ran, name_of, wait_for, watched

pytestmark = [pytest.mark.smoke, pytest.mark.root]

CORE = max(os.sched_getaffinity(0))


@contextmanager
def spinning(code: str) -> Iterator[int]:
    """A process on the core until the block is left; gives its number."""
    with running([sys.executable, "-c", code], CORE) as process:
        yield process.pid


def explain(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*TAUT, "explain", *arguments], capture_output=True, text=True)


@pytest.mark.timing
def test_a_hog_on_its_core_is_found_by_name() -> None:
    # It works a millisecond in ten under a name of its own (prctl PR_SET_NAME).
    hog = (
        "import ctypes, time\n"
        "ctypes.CDLL(None).prctl(15, b'made-hog', 0, 0, 0)\n"
        "while True:\n"
        "    end = time.monotonic() + 0.001\n"
        "    while time.monotonic() < end: pass\n"
        "    time.sleep(0.009)\n"
    )
    with spinning("while True: pass") as poller, spinning(hog) as other:
        wait_for("the hog", lambda: name_of(other) == "made-hog")
        argv = [*TAUT, "explain", str(poller), "--duration", "3s", "--json"]
        done, looks = watched(argv, other)

    skip_if_untraceable(done.stderr)
    assert done.returncode == 0, done.stderr
    [found] = json.loads(done.stdout)["trials"]
    [preemption] = [row for row in found["gaps"] if row["cause"] == "preemption"]
    # A tenth of the core where it is asked for alone; the kernel says how much it had here.
    had_s = min(ran for (ran,) in least_ran(looks, 3))
    assert preemption["by"][f'"made-hog"/{other}'] >= 0.9 * had_s * 1e9 > 0, (had_s, found["gaps"])


TWO_POLLERS = """
import os, threading
def poll(core):
    os.sched_setaffinity(0, {core})
    while True: pass
for core in os.sched_getaffinity(0):
    threading.Thread(target=poll, args=(core,), daemon=True).start()
threading.Event().wait()
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_of_several_polling_threads_each_or_the_chosen_one_is_explained() -> None:
    process = subprocess.Popen([sys.executable, "-c", TWO_POLLERS], start_new_session=True)
    try:
        n = len(os.sched_getaffinity(0))
        wait_for("pinned threads", lambda: len(pinned(process.pid)) == n)
        every = explain(str(process.pid), "--duration", "1s", "--json")
        one = explain(str(process.pid), "--cores", str(CORE), "--duration", "1s", "--json")
    finally:
        process.kill()
        process.wait()

    skip_if_untraceable(every.stderr)
    assert (every.returncode, one.returncode) == (0, 0), every.stderr + one.stderr
    assert len(json.loads(every.stdout)["trials"]) == len(os.sched_getaffinity(0))
    [chosen] = json.loads(one.stdout)["trials"]
    assert {gap["core"] for gap in chosen["worst_gaps"]} == {CORE}


def pinned(pid: int) -> list[str]:
    """Threads that may run on one core only."""
    tasks = [path.name for path in Path(f"/proc/{pid}/task").iterdir()]
    return [task for task in tasks if len(os.sched_getaffinity(int(task))) == 1]


def test_a_core_it_does_not_poll_on_is_told() -> None:
    with spinning("while True: pass") as poller:
        done = explain(str(poller), "--cores", str(CORE + 1000), "--duration", "1s")

    assert done.returncode == 2
    assert f"one of {CORE}" in done.stderr


@pytest.mark.beside
def test_no_such_process_is_bad_input() -> None:
    done = explain("999999999", "--duration", "1s")

    assert done.returncode == 2
    assert "process 999999999" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.beside
def test_a_process_that_is_not_pinned_is_told_what_to_do() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        done = explain(str(process.pid), "--duration", "1s")
    finally:
        process.kill()
        process.wait()

    if len(os.sched_getaffinity(0)) > 1:
        assert done.returncode == 2
        assert "taskset" in done.stderr
