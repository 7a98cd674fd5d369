"""Neighbours in real runs: they work beside trials, fail them when they die, and leave nothing."""

import os
import signal
from pathlib import Path

import pytest

from acceptance_run import children_of, finished, in_a_trial, passed, run_taut, started
from taut.cli.main import run_command
from taut.testbed.netlink import namespaces
from taut.testbed.sessions import Session
from waiting import wait_for

pytestmark = [pytest.mark.smoke, pytest.mark.root]

SPEC = """
name = "beside"
duration = "{duration}"
warm_up = "100ms"
deadline = "100ms"
repetitions = 1
order = "listed"
floor = false
{neighbours}
[[device]]
driver = "taut_forward"
name = "eager"
[[traffic]]
rates = ["10kpps"]
"""


def spec_of(*kinds: str, duration: str = "500ms") -> str:
    tables = "".join(f'[[neighbour]]\nkind = "{kind}"\n' for kind in kinds)
    return SPEC.format(neighbours=tables, duration=duration)


def test_each_is_in_its_trials_document_with_what_it_did(tmp_path: Path) -> None:
    run = passed(run_taut(tmp_path, spec_of("idle", "cache")))

    idle, cache = (trial.meta for trial in run.trials)
    assert "neighbour" not in idle
    assert cache["neighbour"]["kind"] == "cache"
    assert cache["neighbour"]["cpu_ns"] > 0
    assert cache["neighbour"]["work"][0]["n_operations"] > 0
    assert {"logs/neighbour.log", "logs/neighbour.yaml"} <= set(cache["logs"])
    assert [result.get("neighbour") for result in run.results] == [None, "cache"]
    assert "Cache beside idle: eager" in " ".join(run.stdout.split())


def test_one_that_is_killed_fails_its_trial_alone(tmp_path: Path) -> None:
    with started(tmp_path, spec_of("cache", "idle", duration="5s")) as taut:
        pid = in_a_trial(tmp_path / "run", taut, "stress-ng")
        os.kill(pid, signal.SIGKILL)
        run = finished(tmp_path, taut)

    assert run.status == 1
    beside, alone = (trial.meta for trial in run.trials)
    assert beside["failure"]["reason"] == (
        "neighbour 'cache': died during the trial: killed by SIGKILL"
    )
    assert alone["status"] == "whole"


@pytest.mark.parametrize("kinds", [("disk",), ("network",)], ids="".join)
def test_nothing_is_left_after_kill_9(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    before = namespaces()
    with started(tmp_path, spec_of(*kinds, duration="60s")) as taut:
        leader = in_a_trial(tmp_path / "run", taut, "stress-ng")
        workers = [pid for pid in children_of(leader) if os.getsid(pid) == leader]
        assert workers
        taut.kill()
        taut.wait()

    # In this process: its start takes longer than the cleaning, and proves nothing here.
    assert run_command(["doctor", "--clean"]) in (0, 1)
    wait_for("an end of all workers", lambda: Session(leader).pids() == [])
    assert namespaces() == before
    assert not list(tmp_path.glob("run/trials/.tmp-*"))
