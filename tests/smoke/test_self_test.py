"""`taut explain --self-test` on this machine, whatever else it does."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from acceptance_run import TAUT, children_of
from taut.testbed.leftovers import find_leftovers
from traceable import skip_if_untraceable
from waiting import wait_for

pytestmark = [pytest.mark.smoke, pytest.mark.root, pytest.mark.timeout(600)]
two_cores = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")

N_ACTS = 60
# Shares; at a load of 12 on two cores it was still all of them.
LEAST_FOUND, LEAST_SENDER = 0.9, 0.9


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """No trace instance or control group of a dead program, no run and no recording is new."""
    before = left()
    yield
    new = left() - before
    # Others may run on this machine: what is theirs ends by itself.
    wait_for(f"an end of {new}", lambda: not new & left(), 90)


def left() -> set[str]:
    folders = [*Path("/tmp").glob("taut-self-test-*"), *Path("/run/taut").glob("*")]
    return {str(found) for found in (*find_leftovers(), *folders)}


def self_test(*arguments: str) -> subprocess.CompletedProcess[str]:
    core = max(os.sched_getaffinity(0))
    argv = [*TAUT, "explain", "--self-test", "--cores", str(core), *arguments]
    return subprocess.run(argv, capture_output=True, text=True, timeout=500)


@pytest.mark.timing
@two_cores
def test_injected_shootdowns_and_faults_are_found(nothing_left: None) -> None:
    names = ("tlb-shootdown", "page-fault")

    done = self_test(
        *(word for name in names for word in ("--cause", name)), "--acts", str(N_ACTS), "--json"
    )

    skip_if_untraceable(done.stderr)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    rows = {row["cause"]: row for row in document["causes"]}
    for name in names:
        row = rows[name]
        assert row["felt"] >= N_ACTS, row
        assert row["right"] + sum(row["beside"].values()) + row["missed"] == row["felt"]
        assert row["found"] >= LEAST_FOUND, row
        assert row["precision"] >= LEAST_FOUND, row
        # By chance it would be a tenth; larger causes in the same gaps are the machine's.
        assert row["recall"] > 0.5, row
    if rows["tlb-shootdown"]["sender_named"]:
        assert rows["tlb-shootdown"]["sender"] >= LEAST_SENDER
    assert "stopped" in document["not_proved"]
    assert "tlb-shootdown" not in document["not_proved"]


@pytest.mark.timing
@pytest.mark.long
@two_cores
def test_a_generator_that_is_stopped_is_the_measurer(nothing_left: None) -> None:
    done = self_test("--cause", "measurer-stall", "--acts", str(N_ACTS), "--json")

    skip_if_untraceable(done.stderr)
    assert done.returncode == 0, done.stderr
    [row] = json.loads(done.stdout)["causes"]
    assert row["felt"] >= N_ACTS, row
    assert row["found"] >= LEAST_FOUND, row
    assert row["recall"] >= LEAST_FOUND, row


@pytest.mark.timing
@pytest.mark.long
@two_cores
def test_acts_on_a_forwarder_and_on_a_floor_are_felt_and_told(nothing_left: None) -> None:
    asked = ("--path", "eager", "--path", "floor_memif", "--acts", "15", "--json")

    done = self_test(*asked)

    skip_if_untraceable(done.stderr)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["causes"] == []
    paths = {row["path"]: row for row in document["paths"]}
    assert list(paths) == ["floor_memif", "eager"]
    for path in paths.values():
        assert path["control"]["tail"] > 0
        assert path["control"]["false_share"] <= 0.1, path["control"]
        for act in path["acts"]:
            assert act["acts"] > 0, act
            assert act["right"] + sum(act["beside"].values()) + act["missed"] == act["felt"]
    # On a loaded machine most are felt of few kinds; of those that are the timeline knows most.
    acts = [act for path in paths.values() for act in path["acts"]]
    felt = sum(act["felt"] for act in acts)
    assert felt > 0
    assert sum(act["missed"] for act in acts) <= 0.2 * felt, acts


@pytest.mark.long
@two_cores
@pytest.mark.parametrize(
    ("arguments", "programs"),
    [
        pytest.param(
            ["--path", "eager", "--acts", "5000"],
            ["taut-generate", "taut-inject"],
            id="path",
        ),
        pytest.param(["--cause", "stopped", "--acts", "200"], ["taut-inject"], id="cause"),
    ],
)
def test_ctrl_c_ends_it_and_leaves_nothing(
    arguments: list[str], programs: list[str], nothing_left: None
) -> None:
    argv = [*TAUT, "explain", "--self-test", *arguments, "--json"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        for name in programs:
            wait_for(name, lambda name=name: name in names_below(process.pid), 120)
        time.sleep(0.5)  # anywhere: so many acts take longer
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()

    skip_if_untraceable(said)
    assert (process.returncode, out) == (130, "")
    assert "interrupted" in said
    assert "Traceback" not in said


def names_below(pid: int) -> set[str]:
    found = set()
    for child in children_of(pid):
        try:
            found.add(Path(f"/proc/{child}/comm").read_text().strip())
        except OSError:
            continue  # it has ended
    return found
