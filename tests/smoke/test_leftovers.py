"""Whatever a killed taut-trace leaves in the kernel, `taut doctor` finds and removes."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from taut.core.binaries import find_binary
from taut.testbed.leftovers import find_leftovers, remove_leftovers
from waiting import wait_for

pytestmark = [pytest.mark.smoke, pytest.mark.root]


def leave_instances(out: Path) -> set[str]:
    """Kill a trace, and before it the process that would tidy up after it."""
    core = str(max(os.sched_getaffinity(0)))
    argv = [str(find_binary("taut-trace")), "--cores", core, "--out", str(out)]
    log = out.with_suffix(".log")
    with log.open("w") as file:
        tracer = subprocess.Popen(argv, stderr=file)
    try:
        wait_for("a word", lambda: "armed" in log.read_text() or tracer.poll() is not None)
        if tracer.poll() == 2:
            pytest.skip(log.read_text())
        children = Path(f"/proc/{tracer.pid}/task/{tracer.pid}/children").read_text()
        os.kill(int(children.split()[0]), signal.SIGKILL)
    finally:
        tracer.kill()
        tracer.wait()
    return {str(of) for of in find_leftovers() if f"/taut-{tracer.pid}" in str(of)}


def test_the_instances_of_a_killed_trace_are_found_and_removed(tmp_path: Path) -> None:
    ours = leave_instances(tmp_path / "killed")

    removed = set(remove_leftovers())

    assert len(ours) == 2
    assert ours <= removed
    assert not ours & {str(of) for of in find_leftovers()}
