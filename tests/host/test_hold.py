import hashlib
import math
import os
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from host_tree import put, tree
from taut.core.errors import InputError, TautError
from taut.host.hold import hold, signals_to_pipe
from taut.host.host import Host
from taut.host.settings.held_latency import DEVICE, PID_FILE, HeldLatency
from waiting import wait_for

CODE = """
import sys
from pathlib import Path
from taut.host.hold import hold
from taut.host.host import Host
hold(Host(Path(sys.argv[1])), 20, seconds=None, waits_for_go=sys.argv[2] == "go")
"""


@pytest.fixture
def host(tmp_path: Path) -> Host:
    # The holder is a true process, the device a file.
    found = tree(tmp_path, {DEVICE: ""})
    (tmp_path / "proc").symlink_to("/proc")
    return found


@pytest.fixture
def started(host: Host) -> Iterator[list[subprocess.Popen[bytes]]]:
    found: list[subprocess.Popen[bytes]] = []
    yield found
    for process in found:
        process.kill()
        process.communicate()


def start(host: Host, started: list[subprocess.Popen[bytes]], word: str) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-c", CODE, str(host.root), word]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE)
    started.append(process)
    wait_for("a holder", lambda: HeldLatency().read(host) == "20")
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_holds_until_told_to_end(
    host: Host, started: list[subprocess.Popen[bytes]], number: int
) -> None:
    process = start(host, started, "alone")

    assert (host.root / "dev/cpu_dma_latency").read_bytes() == struct.pack("=i", 20)
    os.kill(process.pid, number)

    assert process.wait(60) == 0
    assert HeldLatency().read(host) is None
    assert not host.is_there(PID_FILE)


def test_a_signal_is_heard_before_python_comes_to_it() -> None:
    # Between the last look for signals and select() none of Python's handlers runs.
    found: list[object] = []
    with signals_to_pipe() as stop:

        def ask() -> None:
            time.sleep(0.1)
            os.kill(os.getpid(), signal.SIGTERM)
            found.extend(select.select([stop], [], [], 60)[0])

        asking = threading.Thread(target=ask)
        asking.start()
        hashlib.pbkdf2_hmac("sha256", b"", b"", 5_000_000)  # C, for a second or more
        asking.join()
    assert found == [stop]


def test_told_to_go_it_outlives_who_started_it(
    host: Host, started: list[subprocess.Popen[bytes]]
) -> None:
    process = start(host, started, "go")
    assert process.stdin is not None
    process.stdin.write(b"go\n")
    process.stdin.close()

    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    assert HeldLatency().read(host) == "20"


def test_it_ends_if_who_started_it_dies_before_its_word(
    host: Host, started: list[subprocess.Popen[bytes]]
) -> None:
    process = start(host, started, "go")
    assert process.stdin is not None
    process.stdin.close()

    assert process.wait(60) == 0
    assert HeldLatency().read(host) is None


def test_it_ends_after_its_time(host: Host) -> None:
    hold(host, 0, seconds=0.01, waits_for_go=False)

    assert not host.is_there(PID_FILE)


def test_a_second_holder_is_refused(host: Host, started: list[subprocess.Popen[bytes]]) -> None:
    process = start(host, started, "alone")

    with pytest.raises(InputError, match=f"process {process.pid} holds 20 µs already"):
        hold(host, 0, seconds=0, waits_for_go=False)


@pytest.mark.parametrize("latency_us", [-1, 2**31])
def test_a_latency_the_kernel_cannot_have_is_refused(host: Host, latency_us: int) -> None:
    with pytest.raises(InputError, match="microseconds from 0"):
        hold(host, latency_us, seconds=0, waits_for_go=False)


@pytest.mark.parametrize("seconds", [math.inf, math.nan, 1e10, -1])
def test_a_time_that_nobody_can_wait_is_refused(host: Host, seconds: float) -> None:
    with pytest.raises(InputError, match=rf"seconds {seconds}: from 0 to 1000000000; without, it"):
        hold(host, 0, seconds=seconds, waits_for_go=False)


def test_a_kernel_without_the_device_is_told(tmp_path: Path) -> None:
    with pytest.raises(TautError, match="no PM QoS"):
        hold(tree(tmp_path, {}), 0, seconds=0, waits_for_go=False)


def test_what_a_dead_holder_left_is_no_hindrance(host: Host) -> None:
    put(host.root, PID_FILE, "1 1 0\n")

    hold(host, 0, seconds=0, waits_for_go=False)
