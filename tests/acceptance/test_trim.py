"""`taut trim` for real: it decides, or dies at any moment, and the host is given back."""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from acceptance_run import TAUT, children_of
from host_snapshot import affinities, left_different, snapshot
from taut.cli.main import run_command
from taut.core.cpus import CpuSet, cpuset_cores
from taut.host.host import Host
from taut.host.journal import Journal

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.root,
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("untouched_machine"),
    pytest.mark.skipif(len(cpuset_cores()) < 2, reason="one core: nothing could be kept off it"),
]

SPEC = """
name = "short"
duration = "120ms"
warm_up = "50ms"
deadline = "50ms"
floor = false
[[device]]
driver = "taut_forward"
name = "eager"
[[traffic]]
rates = ["100kpps"]
"""
DECISIONS = {"kept", "put back", "needs a boot", "by hand"}


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "short.toml"
    path.write_text(SPEC)
    return path


def argv(spec: Path, *arguments: str) -> list[str]:
    # Of 12,000 packets p99 has support even where most are void.
    target = [] if "--target" in arguments else ["--target", "p99"]
    return ["trim", str(spec), "--out", str(spec.parent / "run"), "--wait", *arguments, *target]


def trim(spec: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    words = [*TAUT, *argv(spec, *arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_everything_is_decided_kept_and_given_back(spec: Path):
    """Whatever this machine shows: what is kept is in force, and undo takes all of it back."""
    before, threads = snapshot(), affinities()

    done = trim(spec, "--yes", "--json", "--keep", "--budget", "45s")

    assert done.returncode == 0, done.stderr[-3000:]
    document = json.loads(done.stdout)
    assert document == json.loads((spec.parent / "run/trim.json").read_text())
    assert (spec.parent / "run/report.html").is_file()
    assert_consistent(document)
    assert_verified(trials(spec))
    assert_in_order(spec.parent / "run")
    remedies = {entry.remedy for entry in Journal(Host()).load().entries}
    assert remedies <= set(document["kept"])
    assert document["in_force"] == bool(document["kept"]) == bool(remedies)
    undone = subprocess.run([*TAUT, "host", "undo"], capture_output=True, text=True, check=False)
    assert undone.returncode == 0, undone.stdout
    assert left_different(before) == []
    assert moved(threads) == []


def assert_consistent(document: dict[str, Any]) -> None:
    """What is claimed, what is decided and what the pairs show agree."""
    assert document["remedies"]
    assert {text["decision"].partition(":")[0] for text in document["remedies"]} <= DECISIONS
    effect = document["effect"]
    if effect is None or "lost or not sent" in document["sentence"]:
        # The machine's own noise left too few pairs, or lost packets of one state alone: then that
        # is what is said, and nothing kept.
        assert document["verdict"] == "no effect shown"
        assert document["sentence"].startswith("Not shown: ")
        assert document["kept"] == []
        return
    assert effect["n_pairs"] >= 7
    assert effect["low"] <= effect["ratio"] <= effect["high"]
    is_shown = effect["low"] > 1 or effect["high"] < 1
    assert is_shown == (effect["p_value"] <= 1 - effect["confidence"])
    assert is_shown == (document["verdict"] != "no effect shown")
    assert bool(document["kept"]) <= (document["verdict"] == "helps")


def assert_in_order(run: Path) -> None:
    """The manifest names the trials that ran, in the order they ran, from number 0 on."""
    order = json.loads((run / "manifest.json").read_text())["order"]
    assert order == sorted(path.name for path in (run / "trials").iterdir())
    assert [int(name.partition("-")[0]) for name in order] == list(range(len(order)))


def assert_verified(found: list[dict[str, Any]]) -> None:
    """Every trial was measured in the state it names."""
    states = {trial["host"]["name"] for trial in found if trial["repetition"] > 1}
    assert {"as found", "trimmed"} <= states
    for trial in found:
        host = trial["host"]
        assert (host["before"]["n_changes"] > 0) == (host["name"] != "as found"), trial["name"]
        assert host["before"]["lost"] == host["after"]["lost"] == []


def moved(threads: dict[tuple[int, str], CpuSet]) -> list[str]:
    """Threads from before that are on other cores now."""
    return [
        f"{thread}: {threads[thread]} {cores}"
        for thread, cores in affinities(threads).items()
        if threads[thread] != cores
    ]


@pytest.mark.long
def test_nothing_against_nothing_is_no_effect_or_one_in_forty(spec: Path):
    """The control: two states that do not differ. What it may claim at most is ALPHA."""
    done = trim(spec, "--yes", "--json", "--only", "", "--budget", "45s")

    assert done.returncode == 0, done.stderr[-3000:]
    document = json.loads(done.stdout)
    assert document["kept"] == []
    assert {text["decision"] for text in document["remedies"]} <= {"needs a boot", "by hand"}
    if document["verdict"] != "no effect shown":
        assert document["effect"]["p_value"] <= 0.025


def test_a_dry_run_measures_and_changes_nothing(spec: Path):
    before = snapshot()

    done = trim(spec, "--dry-run")

    assert done.returncode == 0, done.stderr[-3000:]
    assert "Nothing was changed" in done.stdout
    assert {trial["host"]["name"] for trial in trials(spec)} == {"as found"}
    assert left_different(before) == []


@pytest.mark.long
@pytest.mark.parametrize("attempt", range(3))
def test_killed_at_any_moment_it_leaves_nothing(spec: Path, attempt: int):
    before, threads = snapshot(), affinities()
    moment_s = random.Random(attempt).uniform(3, 9)

    words = [*TAUT, *argv(spec, "--yes")]
    with subprocess.Popen(
        [*words, "--budget", "60s"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as taut:
        time.sleep(moment_s)
        assert taut.poll() is None, taut.stderr.read() if taut.stderr else ""
        for pid in (taut.pid, *(children_of(taut.pid) if attempt % 2 else [])):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
    clean = subprocess.run(
        [*TAUT, "doctor", "--clean"], capture_output=True, text=True, check=False
    )

    assert "Traceback" not in clean.stderr, clean.stderr
    assert left_different(before) == [], (moment_s, clean.stdout)
    assert moved(threads) == []
    assert not Journal(Host()).is_there
    assert not list((spec.parent / "run").glob("trials/.tmp-*"))


def test_an_apply_made_by_hand_is_refused_and_untouched(spec: Path):
    setting = Path("/proc/sys/vm/stat_interval")
    found = setting.read_text()
    apply = [*TAUT, "host", "apply", "--only", "R06", "--yes", "--cores", str(cpuset_cores()[-1])]
    subprocess.run(apply, check=True, capture_output=True)
    applied = setting.read_text()

    done = trim(spec, "--yes")

    assert done.returncode == 2
    assert "taut host undo" in done.stderr
    assert setting.read_text() == applied
    subprocess.run([*TAUT, "host", "undo"], check=True, capture_output=True)
    assert setting.read_text() == found


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--budget", "5s"], "too small to show anything: 7 pairs"),
        (["--target", "p99.99999"], "no such percentile"),
        (["--target", "p99.999"], "fewer than 10 of them above"),
        (["--cores", "999"], "cannot be used here"),
        (["--cores", "0,1,2"], "name the device's core"),
        (["--only", "R66"], "no such check or remedy"),
        (["--profile", "most"], "no profile 'most'"),
        (["--set", 'host=[{name = "a", only = ["R06"]}]'], "trim chooses the states"),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(
    spec: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
):
    status = run_command(argv(spec, "--yes", *arguments))

    assert status == 2
    assert said in capsys.readouterr().err.splitlines()[-1]
    assert not Journal(Host()).is_there


def trials(spec: Path) -> list[dict[str, Any]]:
    files = sorted((spec.parent / "run/trials").glob("*/trial.json"))
    return [json.loads(file.read_text()) for file in files]
