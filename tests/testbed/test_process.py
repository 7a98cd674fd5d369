import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from taut.core.cpus import cpuset_cores
from taut.core.errors import TrialError
from taut.core.processes import process_start_time
from taut.testbed.cleanup import run_processes
from taut.testbed.process import child
from taut.testbed.scope import RunScope
from waiting import name_of, state_of, wait_for


def test_a_child_is_pinned_marked_and_logged(scope: RunScope, tmp_path: Path) -> None:
    log = tmp_path / "logs" / "x.log"
    code = "echo $TAUT_RUN; echo error >&2; exec sleep 100"
    core = cpuset_cores()[0]

    with child("x", ["sh", "-c", code], scope=scope, log=log, cores=[core]) as process:
        process.wait_ready("error")
        assert os.sched_getaffinity(process.pid) == {core}
        assert os.getsid(process.pid) != os.getsid(0)
        assert process.alive()

    assert process.tail() == [scope.id, "error"]
    assert not process.alive()


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="kernel without autogroup")
def test_the_session_of_a_child_has_the_nice_value_of_taut(
    scope: RunScope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getpriority", lambda _which, _who: 7)

    with child("x", ["sleep", "100"], scope=scope, log=tmp_path / "x.log") as process:
        assert Path(f"/proc/{process.pid}/autogroup").read_text().split()[-1] == "7"


def test_a_child_that_dies_at_start_says_why(scope: RunScope, tmp_path: Path) -> None:
    command = ["sh", "-c", "echo no device; exit 3"]
    with (
        pytest.raises(TrialError, match="x: ended with exit status 3 at start") as raised,
        child("x", command, scope=scope, log=tmp_path / "x") as process,
    ):
        process.wait_ready("ready")

    assert raised.value.log_tail == ["no device"]


def test_a_child_that_is_never_ready_is_given_up(scope: RunScope, tmp_path: Path) -> None:
    with (
        pytest.raises(
            TrialError, match=r"not ready after 0\.1 s \(no 'ready' in its log, [A-Z] \([a-z ]+\)"
        ),
        child("x", ["sleep", "100"], scope=scope, log=tmp_path / "x") as process,
    ):
        process.wait_ready("ready", timeout_s=0.1)

    assert process_start_time(process.pid) is None


def test_a_stopped_child_takes_its_signal(scope: RunScope, tmp_path: Path) -> None:
    with child("x", ["sleep", "100"], scope=scope, log=tmp_path / "x") as process:
        process.send(signal.SIGSTOP)

        assert process.stop(signal.SIGTERM, timeout_s=60) == -signal.SIGTERM
        assert process.describe_end() == "killed by SIGTERM"


def test_a_child_that_ignores_its_signal_is_killed(scope: RunScope, tmp_path: Path) -> None:
    command = ["sh", "-c", "trap '' INT; echo on; while :; do sleep 0.1; done"]
    with child("x", command, scope=scope, log=tmp_path / "x") as process:
        process.wait_ready("on")

        assert process.stop(signal.SIGINT, timeout_s=0.2) == -signal.SIGKILL


def test_what_a_child_started_ends_with_it(scope: RunScope, tmp_path: Path) -> None:
    # What it started takes no SIGTERM.
    command = ["sh", "-c", "trap '' TERM; sleep 1000 & trap - TERM; echo $! is up; wait"]
    with child("x", command, scope=scope, log=tmp_path / "x") as process:
        process.wait_ready("is up")
        started = int(process.log_text().split()[0])

        assert process.stop(signal.SIGTERM) == -signal.SIGTERM
        assert state_of(started) != "Z"

    assert run_processes(scope.id) == []


def test_what_a_script_calls_without_exec_takes_the_signal(scope: RunScope, tmp_path: Path) -> None:
    script = "trap 'echo counters; exit 0' INT; echo up; while :; do sleep 0.1; done"
    argv = ["sh", "-c", f'sh -c "{script}"; exit 3']

    with child("made", argv, scope=scope, log=tmp_path / "made.log") as process:
        process.wait_ready("up")
        process.stop(signal.SIGINT, timeout_s=60)

        assert "counters" in process.log_text()
        assert process.killed_after_s is None


def test_only_the_end_of_a_long_log_is_given(scope: RunScope, tmp_path: Path) -> None:
    with child("x", ["seq", "100000"], scope=scope, log=tmp_path / "x") as process:
        process.wait(60)

        assert process.tail(2) == ["99999", "100000"]


_PARENT = """
import sys, time
from pathlib import Path
from taut.testbed.process import child
from taut.testbed.scope import RunScope
with RunScope(Path(sys.argv[1])) as scope:
    with child("x", ["sleep", "1000"], scope=scope, log=Path(sys.argv[2])) as process:
        print(process.pid, flush=True)
        time.sleep(1000)
"""


def test_a_child_dies_with_taut(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT, tmp_path / "base", tmp_path / "x"], stdout=subprocess.PIPE
    )
    pid = int(parent.stdout.readline())
    wait_for("the program", lambda: name_of(pid) == "sleep")  # setpriv has asked for the signal

    parent.kill()
    parent.communicate()

    wait_for("its end", lambda: process_start_time(pid) is None)
