"""Two measurements never share a core unknowingly."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from taut.core.cpus import CpuSet
from taut.core.errors import InputError
from taut.testbed import core_locks
from taut.testbed.core_locks import busy_cores, measuring_on, refuse_others
from waiting import wait_for

# No machine has them: no run of another test holds them.
A, B = 8190, 8191

_HOLDER = """
import sys
from taut.testbed.core_locks import measuring_on
with measuring_on([int(sys.argv[1])]):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def somebody_on(core: int) -> Iterator[subprocess.Popen[bytes]]:
    argv = [sys.executable, "-c", _HOLDER, str(core)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield holder
        if holder.poll() is None:
            holder.kill()


def test_a_core_is_free_held_and_free_again():
    with measuring_on([A]):
        assert busy_cores([A, B]) == (A,)

    assert busy_cores([A, B]) == ()


def test_the_second_is_told_who_measures_there():
    with (
        somebody_on(A) as holder,
        pytest.raises(InputError, match=rf"core {A}: .*pid {holder.pid}.*--wait"),
        measuring_on([A]),
    ):
        pytest.fail("both measured")


@pytest.mark.parametrize(
    ("mine", "advice"),
    [((A, B), r"\(--wait\), or measure on other cores"), ((A,), r"\(--wait\)")],
)
def test_other_cores_are_advised_where_one_is_free(
    mine: CpuSet, advice: str, monkeypatch: pytest.MonkeyPatch
):
    """`taut host apply` has every core while it changes the host."""
    monkeypatch.setattr(core_locks, "cpuset_cores", lambda: mine)

    with (
        somebody_on(A) as holder,
        pytest.raises(InputError, match=rf"pid {holder.pid}\) has it; wait for its end {advice}$"),
        measuring_on([A]),
    ):
        pytest.fail("both measured")


def test_who_changes_the_host_is_refused_while_another_measures_on_it():
    with measuring_on([B]):
        refuse_others([A, B])
        with (
            somebody_on(A) as holder,
            pytest.raises(InputError, match=rf"pid {holder.pid}\) has it, on this host, "),
        ):
            refuse_others([A, B])


def test_of_two_cores_none_is_taken_where_one_is_held():
    with somebody_on(B):
        with pytest.raises(InputError), measuring_on([A, B]):
            pytest.fail("both measured")

        assert busy_cores([A]) == ()


def test_more_cores_than_files_that_may_be_open_are_refused():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    n_open = sum(1 for _ in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(n_open + 8, soft), hard))
    try:
        cores = range(8000, 8064)
        with pytest.raises(InputError, match=r"^64 cores: .*ulimit -n"), measuring_on(cores):
            pytest.fail("held")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_who_waits_goes_on_when_the_other_ends():
    told: list[str] = []
    with somebody_on(A) as holder:

        def end(text: str) -> None:
            told.append(text)
            holder.kill()

        with measuring_on([A], wait=True, waiting=end):
            assert f"pid {holder.pid}" in told[0]


def test_a_killed_holder_holds_nothing():
    with somebody_on(A) as holder:
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()

        wait_for("a free core", lambda: busy_cores([A]) == ())
