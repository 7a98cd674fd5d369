"""What carries a variable is found at every moment of its life, also while it is being started."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from taut.testbed import carriers as module
from taut.testbed.carriers import carriers, kill_carriers

_LOOKS = 1000
"""At each a process that starts itself again and again has no environment in one case of five."""

_AGAIN_AND_AGAIN = 'exec sh -c "$0" "$0"'


@contextmanager
def started(*command: str, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_one_that_is_just_being_started_is_found() -> None:
    environment = {"TAUT_CARRIED": "this", "PATH": os.defpath}

    with started("sh", "-c", _AGAIN_AND_AGAIN, _AGAIN_AND_AGAIN, environment=environment) as it:
        found = [carriers("TAUT_CARRIED", "this") for _ in range(_LOOKS)]

    assert [pids for pids in found if pids != [it.pid]] == []


def test_one_that_is_just_being_started_is_killed() -> None:
    environment = {"TAUT_CARRIED": "that", "PATH": os.defpath}

    with started("sh", "-c", _AGAIN_AND_AGAIN, _AGAIN_AND_AGAIN, environment=environment) as it:
        killed = kill_carriers("TAUT_CARRIED", "that")

        assert it.wait(timeout=60) == -9

    assert killed == [f"process {it.pid}"]


def test_one_without_any_environment_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_EXEC_TIMEOUT_S", 60.0)
    with started("sleep", "60", environment={}) as process:
        began = time.monotonic()
        found = carriers("TAUT_CARRIED", "")
        took_s = time.monotonic() - began

    assert process.pid not in found
    assert took_s < 30.0
