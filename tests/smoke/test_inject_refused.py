"""taut-inject: what it cannot do is one line, and it acts from wherever it can."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from taut.core.binaries import find_binary

pytestmark = pytest.mark.smoke

CORES = sorted(os.sched_getaffinity(0))
CORE = CORES[-1]

two_cores = pytest.mark.skipif(len(CORES) < 2, reason="acts from another CPU")


def run(*arguments: str, within: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    argv = [*within, str(find_binary("taut-inject")), *arguments]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60)


def check_refused(done: subprocess.CompletedProcess[str], word: str) -> None:
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("taut-inject: ")
    assert word in done.stderr


BAD = [
    (("nonsense",), "no such cause; known: tlb-shootdown"),
    (("packet-burst",), "--schedule burst"),
    ((), "--cause"),
    (("membarrier", "--core", "1023"), "--core: core 1023 is not online"),
    (("membarrier", "--core", "x"), "--core x"),
    (("membarrier", "--core", "0-1"), "--core 0-1: a core is a number"),
    (("membarrier", "--rate", "100"), "--rate 100"),
    (("membarrier", "--rate", "0/s"), "--rate 0/s"),
    (("membarrier", "--duration", "10"), "duration"),
    (("membarrier", "--victim", "1"), "--victim 1: membarrier disturbs only its own poller"),
    (("membarrier:x=1",), "membarrier"),
    (("tlb-shootdown:pages=0",), "pages"),
    (("fifo-preemption:length=1s",), "length"),
    (("measurer-stall",), "no --victim"),
    (("stopped", "--victim", "4194303"), "--victim 4194303"),
    (("vcpu-hog", "--victim", str(os.getpid())), "KVM"),
    (("membarrier", "--out", "/proc/nowhere"), "/proc/nowhere"),
]


@pytest.mark.parametrize(("arguments", "word"), BAD, ids=[" ".join(a) or "none" for a, _ in BAD])
def test_bad_input_is_one_line_and_status_2(arguments: tuple[str, ...], word: str):
    check_refused(run(*arguments), word)


@two_cores
@pytest.mark.parametrize("cause", ["stopped", "measurer-stall"])
def test_who_has_a_terminal_to_lose_is_not_stopped(cause: str):
    victim, terminal = pty.fork()
    if victim == 0:
        os.execvp("sleep", ["sleep", "60"])
    try:
        check_refused(run(cause, "--victim", str(victim)), "in the foreground of a terminal")
    finally:
        os.kill(victim, signal.SIGKILL)
        os.waitpid(victim, 0)
        os.close(terminal)


@two_cores
def test_a_shell_that_has_only_the_core_keeps_nobody_from_acting_from_another():
    asked = ("membarrier", "--core", str(CORE), "--duration", "100ms")

    done = run(*asked, within=("taskset", "-c", str(CORE)))

    assert done.returncode == 0, done.stderr


@pytest.fixture
def one_core() -> Iterator[Path]:
    """The file of a control group that has the core alone, for its processes."""
    folder = Path("/sys/fs/cgroup/cpuset/taut-test-inject")
    if not folder.parent.is_dir():
        folder = Path("/sys/fs/cgroup/taut-test-inject")
        if "cpuset" not in (folder.parent / "cgroup.subtree_control").read_text().split():
            pytest.skip("no cpuset to put a process in")
    folder.mkdir()
    try:
        (folder / "cpuset.mems").write_text("0")
        (folder / "cpuset.cpus").write_text(str(CORE))
        yield folder / "cgroup.procs"
    finally:
        folder.rmdir()


@pytest.mark.root
def test_without_a_second_cpu_what_needs_one_is_refused(one_core: Path):
    enter = ("sh", "-c", 'echo $$ >"$0" && exec "$@"', str(one_core))

    check_refused(run("membarrier", "--core", str(CORE), within=enter), "another CPU")


@pytest.mark.root
@two_cores
def test_a_victim_with_cores_that_are_not_ours_is_refused_by_its_name(one_core: Path):
    enter = ("sh", "-c", 'echo $$ >"$0" && exec "$@"', str(one_core))

    check_refused(
        run("preemption", "--victim", str(os.getpid()), within=enter),
        f": --victim {os.getpid()}: core {CORES[0]} is not for this process (its cpuset); it may "
        f"use {CORE}; give --core",
    )


@pytest.mark.root
@pytest.mark.parametrize("cause", ["fifo-preemption", "throttled", "softirq"])
def test_without_root_what_needs_it_is_refused(cause: str):
    other = ("setpriv", "--reuid", "65534", "--clear-groups")

    check_refused(run(cause, "--duration", "1s", within=other), "run as root")


def test_the_list_names_every_cause():
    described = json.loads(run("--describe").stdout)["causes"]
    listed = run("list").stdout

    assert len(described) >= 12
    for cause in described:
        assert f"  {cause['name']} " in listed
