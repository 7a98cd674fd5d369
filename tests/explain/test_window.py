"""Which thread of a program is meant where several are pinned to one core."""

import subprocess
import sys

import pytest

from taut.core.cpus import cpuset_cores
from taut.core.errors import InputError, MissingToolError
from taut.explain import window
from taut.explain.window import explain_window, threads_on
from taut.host.host import Host
from waiting import wait_for

PROGRAM = """
import hashlib, os, signal, sys, threading, time
os.sched_setaffinity(0, {int(sys.argv[1])})
while time.thread_time() < 0.3: pass
polls = threading.Event()
def poll():
    polls.set()
    # It holds no lock of the interpreter, for which the other would have to wait.
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)
thread = threading.Thread(target=poll)
thread.start()
polls.wait()
print(thread.native_id, flush=True)
signal.pause()
"""


def test_of_two_threads_on_one_core_it_is_the_one_that_polls_not_the_one_that_ran_longest():
    core = min(cpuset_cores())
    argv = [sys.executable, "-c", PROGRAM, str(core)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            poller = int(process.stdout.readline())
            # Where others hold the core, it is ready for as long before it sleeps.
            main = f"/proc/{process.pid}/task/{process.pid}/status"
            wait_for("the main thread to sleep", lambda: Host().fields(main)["State"][0] == "S")

            assert threads_on(Host(), process.pid, None) == {core: poller}
        finally:
            process.kill()


@pytest.mark.parametrize("duration_ns", [0, 86_400_000_000_001])
def test_no_tracer_is_started_that_would_not_end(duration_ns: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(window, "_trace", lambda *_: pytest.fail("it is traced"))

    with pytest.raises(InputError, match=r"--duration .*: write more than 0 and at most 24h"):
        explain_window({0: 1}, duration_ns)


def test_nothing_is_traced_where_threads_have_numbers_of_their_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(window, "has_own_numbers", lambda _: True)
    monkeypatch.setattr(window, "_trace", lambda *_: pytest.fail("it is traced"))

    with pytest.raises(MissingToolError, match=r"cannot trace: threads .*--pid=host"):
        explain_window({0: 1}, 1_000_000)
