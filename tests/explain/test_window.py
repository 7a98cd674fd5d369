"""Which thread of a program is meant where several are pinned to one core."""

import subprocess
import sys

import pytest

from made_trace import CORE, POLLER, MadeTrace, notes
from taut.core.cpus import cpuset_cores
from taut.core.errors import InputError, MissingToolError
from taut.explain import window
from taut.explain.walk.pollers import WorkMode
from taut.explain.window import explain_window, threads_on
from taut.host.host import Host
from waiting import wait_for

MS, US = 1_000_000, 1_000

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


def calling(busy_ns: int):
    """A thread is in a system call for so much of each millisecond."""
    trace = MadeTrace().vector(0, 100)
    for t in range(MS, 20 * MS, MS):
        trace.add(t, "syscall_entry", 16).add(t + busy_ns, "syscall_exit", 16)
    return trace.vector(20 * MS, 20 * MS + 100).events()


@pytest.mark.parametrize("first_is_work", [True, False])
def test_windows_that_are_compared_share_how_a_thread_works(
    first_is_work: bool, monkeypatch: pytest.MonkeyPatch
):
    busy = [560 * US, 480 * US] if first_is_work else [480 * US, 560 * US]
    traced = iter([calling(busy_ns) for busy_ns in busy])
    monkeypatch.setattr(window, "has_own_numbers", lambda _: False)
    monkeypatch.setattr(window, "_states", lambda *_: {CORE: 0})
    monkeypatch.setattr(window, "_trace", lambda *_: None)
    monkeypatch.setattr(window, "convert_events", lambda *_: None)
    monkeypatch.setattr(window, "read_events", lambda _: next(traced))
    monkeypatch.setattr(window, "read_notes", lambda _: notes())

    modes: dict[int, WorkMode] = {}
    found = [explain_window({CORE: POLLER}, MS, modes=modes)[0] for _ in busy]

    is_stall = ["syscall" in {total.cause for total in one.gap_totals} for one in found]
    assert is_stall == [not first_is_work] * 2
    assert modes[POLLER].in_calls == first_is_work
