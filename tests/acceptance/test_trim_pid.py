"""Acceptance 7 of trim: a program that taut does not load, with a hog on its core."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acceptance_run import TAUT
from foreign_program import HOG, polling_testpmd, running
from host_snapshot import affinities, left_different, snapshot
from taut.core.cpus import cpuset_cores
from taut.host.host import Host
from taut.host.journal import Journal
from traceable import skip_if_untraceable
from waiting import name_of, wait_for

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.long,
    pytest.mark.root,
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("untouched_machine"),
    pytest.mark.skipif(len(cpuset_cores()) < 2, reason="one core: nothing could be kept off it"),
    pytest.mark.skipif(shutil.which("dpdk-testpmd") is None, reason="no dpdk-testpmd"),
]

CORE = max(cpuset_cores())
WINDOW = ("--window", "300ms")


@contextmanager
def crowded(folder: Path) -> Iterator[tuple[int, int]]:
    """A testpmd and a hog pinned to its core; gives the numbers of both."""
    hog = [sys.executable, "-c", HOG.format(work_s=60, sleep_s=0)]
    # They share the core alike; and where there are but two, the hog is moved to taut's own.
    with (
        polling_testpmd(folder, CORE, nice=0) as pid,
        running(hog, CORE, nice=0) as other,
    ):
        wait_for("the hog", lambda: name_of(other.pid) == "taut-hog")
        yield pid, other.pid


def trim(folder: Path, pid: int, *arguments: str) -> list[str]:
    argv = [*TAUT, "trim", "--pid", str(pid), "--cores", str(CORE), "--yes", "--json", *WINDOW]
    return [*argv, "--wait", "--out", str(folder / "run"), *arguments]


def moved(threads: dict[Any, Any]) -> dict[Any, Any]:
    """Threads that still live and may run on other cores than before."""
    return {key: cores for key, cores in affinities(threads).items() if cores != threads[key]}


@pytest.mark.timing
def test_7_the_remedy_of_a_hog_is_found_and_shown_to_help(tmp_path: Path):
    with crowded(tmp_path) as (pid, hog):
        before, threads = snapshot(), affinities()
        argv = trim(tmp_path / "found", pid, "--dry-run")
        found = subprocess.run(argv, capture_output=True, text=True, check=False)
        # It alone: of several groups each is left out in turn as well, which takes a minute more;
        # tests/trim/test_trim.py has that. A shown effect ends it before the budget.
        argv = trim(tmp_path, pid, "--only", "R24", "--budget", "200s")
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert (left_different(before), moved(threads)) == ([], {})
        assert os.sched_getaffinity(hog) == {CORE}

    skip_if_untraceable(done.stderr)
    assert (found.returncode, done.returncode) == (0, 0), found.stderr + done.stderr[-3000:]
    listed = {remedy["remedy"]: remedy for remedy in json.loads(found.stdout)["remedies"]}
    assert len(listed) > 1
    assert listed["R24-now"]["cause"] == "preemption"
    assert any("taut-hog" in line for line in listed["R24-now"]["lines"])
    document = json.loads(done.stdout)
    assert document == json.loads((tmp_path / "run/trim.json").read_text())
    assert document["verdict"] == "helps", document["sentence"]
    assert document["causes"][0]["cause"] == "preemption"
    [remedy] = [r for r in document["remedies"] if r["remedy"] == "R24-now"]
    assert remedy["decision"].startswith("kept")
    assert any("taut-hog" in line for line in remedy["lines"])
    whole = [window for window in document["windows"] if not window["failure"]]
    assert all(w["before"]["lost"] == w["after"]["lost"] == [] for w in whole)
    # The process was where it was, in every state.
    assert {cell for w in whole for cell in w["stalled_ns_per_s"]} == {f"core {CORE}"}
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    assert manifest["process"]["pid"] == pid
    assert not Journal(Host()).is_there


def test_7_the_process_dies_in_the_middle(tmp_path: Path):
    before = snapshot()
    argv = trim(tmp_path, 0, "--only", "R24", "--budget", "60s")
    with crowded(tmp_path) as (pid, _):
        threads = affinities()
        argv[argv.index("--pid") + 1] = str(pid)
        with subprocess.Popen(argv, stdout=-1, stderr=-1, text=True) as taut:
            wait_for("a change", lambda: Journal(Host()).is_there or taut.poll() is not None, 180)
            os.kill(pid, signal.SIGKILL)
            out, said = taut.communicate(timeout=180)
        assert moved(threads) == {}

    skip_if_untraceable(said)
    assert (taut.returncode, out) == (1, ""), said[-3000:]
    assert said.strip().splitlines()[-1].startswith(f"taut: process {pid} (")
    assert "ended while it was measured" in said
    assert left_different(before) == []
    assert not Journal(Host()).is_there
