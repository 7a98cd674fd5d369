"""Ctrl-C once, twice, and in a fork."""

import os
import signal
import subprocess
import sys

import pytest

from taut.experiment.interrupt import interruptible

_TWICE = """
import os, signal
from taut.experiment.interrupt import interruptible
with interruptible():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        os.kill(os.getpid(), signal.SIGINT)
    print("not reached", flush=True)
"""

_CLOSED = """
import os, signal
from taut.experiment.interrupt import interruptible
signal.signal(signal.SIGHUP, signal.SIG_DFL)
with interruptible():
    try:
        os.kill(os.getpid(), signal.SIGHUP)
    except KeyboardInterrupt:
        os.kill(os.getpid(), signal.SIGHUP)
        print("cleaned up", flush=True)
        os.kill(os.getpid(), signal.SIGTERM)
    print("not reached", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_is_an_exception(number: signal.Signals):
    def theirs(*_: object) -> None:
        """Stand for whatever was there, as the tests themselves may be under nohup."""

    inherited = signal.signal(number, theirs)
    try:
        with pytest.raises(KeyboardInterrupt), interruptible():
            os.kill(os.getpid(), number)
        assert signal.getsignal(number) is theirs
    finally:
        signal.signal(number, inherited)


def test_under_nohup_the_end_of_the_terminal_is_none_of_the_run():
    inherited = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, inherited)


def test_the_second_ends_the_process_at_once():
    done = subprocess.run([sys.executable, "-c", _TWICE], capture_output=True, text=True)

    assert done.returncode == 130
    assert done.stdout == ""
    assert "taut doctor --clean" in done.stderr


def test_the_second_ends_it_where_nobody_reads_what_it_says():
    reader, unread = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run([sys.executable, "-c", _TWICE], stdout=subprocess.PIPE, stderr=unread)
    finally:
        os.close(unread)

    assert done.returncode == 130
    assert done.stdout == b""


def test_a_closed_terminal_which_is_told_twice_leaves_time_to_clean_up():
    done = subprocess.run([sys.executable, "-c", _CLOSED], capture_output=True, text=True)

    assert done.returncode == 130
    assert done.stdout == "cleaned up\n"
    assert "taut doctor --clean" in done.stderr


def test_a_fork_dies_without_unwinding_the_run():
    with interruptible():
        pid = os.fork()
        if pid == 0:
            try:
                os.kill(os.getpid(), signal.SIGTERM)
            finally:
                os._exit(99)
        _, status = os.waitpid(pid, 0)

    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGTERM
