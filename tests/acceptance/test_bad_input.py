"""The issue's list of bad input, each tried with the real programs."""

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from acceptance_run import TAUT, child_of, finished, in_a_trial, passed, run_taut, started
from taut.core.binaries import find_binary
from waiting import wait_for, wait_until_ran

pytestmark = [pytest.mark.acceptance, pytest.mark.beside]

SPEC = """
name = "bad-input"
duration = "300ms"
warm_up = "100ms"
deadline = "100ms"
floor = false
order = "listed"
[[device]]
driver = "taut_forward"
name = "eager"
[[traffic]]
rates = ["10kpps"]
"""
# Nothing happens so late that the long one is over.
LONG = '[[traffic]]\nname = "long"\nrates = ["10kpps"]\nduration = "120s"\n'
SHORT = '[[traffic]]\nname = "short"\nrates = ["10kpps"]\n'
LONG_FIRST = SPEC.replace('[[traffic]]\nrates = ["10kpps"]\n', LONG + SHORT)
SHORT_FIRST = SPEC.replace('[[traffic]]\nrates = ["10kpps"]\n', SHORT + LONG)


def generate(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*TAUT, "generate", *arguments], capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(
    ("arguments", "thing"),
    [
        (["--tx", "carrier-pigeon:x", "--rx", "null:x"], "carrier-pigeon"),
        (["--tx", "veth:nosuchif", "--rx", "veth:nosuchif"], "nosuchif"),
        (["--tx", "ring:a", "--rx", "ring:a", "--frame", "60"], "60"),
        (["--tx", "ring:a", "--rx", "ring:a", "--rate", "0pps"], "rate"),
        (["--tx", "ring:a", "--rx", "ring:a", "--schedule", "sometimes"], "sometimes"),
    ],
)
def test_a_port_or_load_that_cannot_be_is_one_line(
    tmp_path: Path, arguments: list[str], thing: str
):
    rest = ["--out", str(tmp_path / "out")]
    for name, value in (("--rate", "1kpps"), ("--duration", "100ms"), ("--warm-up", "0s")):
        rest += [] if name in arguments else [name, value]

    done = generate(*arguments, *rest)

    assert done.returncode == 2, done.stderr
    assert thing in done.stderr
    assert done.stderr.splitlines()[-1].startswith("taut-generate: ")


def test_a_port_in_use_is_one_line(tmp_path: Path):
    port = f"memif:{tmp_path}/x.sock,role=server"
    forward = [str(find_binary("taut-forward")), "--port", port, "--port", "null:x"]
    first = subprocess.Popen([*forward], stdout=subprocess.PIPE, text=True)
    try:
        assert first.stdout is not None
        assert "ready" in first.stdout.readline()
        second = subprocess.run([*forward], capture_output=True, text=True, timeout=60)
    finally:
        first.kill()
        first.wait()

    assert second.returncode in (1, 2)
    assert "x.sock" in second.stderr
    assert second.stderr.splitlines()[-1].startswith("taut-forward: ")


def test_a_schedule_that_does_not_exist_is_one_line(tmp_path: Path):
    run = run_taut(tmp_path, SPEC, "--set", "traffic.0.schedule=poison")

    assert run.status == 2
    assert run.stderr.count("\n") == 1
    assert "unknown schedule 'poison'; did you mean 'poisson'?" in run.stderr
    assert not run.path.exists()


def test_a_missing_tool_is_one_line_before_anything_starts(tmp_path: Path):
    spec = SPEC.replace('"taut_forward"', '"command"') + ('[[device]]\ndriver = "taut_forward"\n')
    run = run_taut(tmp_path, spec, "--set", 'device.0.options={argv=["nosuchprogram"]}')

    assert run.status == 2
    assert "nosuchprogram: program not found" in run.stderr
    assert not run.path.exists()


def test_a_clock_that_cannot_be_used_ends_the_run(tmp_path: Path):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("taut-generate", "taut-forward"):
        (programs / name).symlink_to(find_binary(name))
    answer = {"usable": False, "why": "no constant_tsc"}
    (programs / "taut-clock").write_text(f"#!/bin/sh\necho '{json.dumps(answer)}'\n")
    (programs / "taut-clock").chmod(0o755)

    run = run_taut(tmp_path, SPEC, TAUT_BIN_DIR=str(programs))

    assert run.status == 2
    assert run.stderr.splitlines()[-1].startswith("taut: clock: not usable: no constant_tsc;")


def test_a_rate_no_port_takes_is_counted_and_marked(tmp_path: Path):
    # Without records: no disk takes as many as the generator sends.
    changed = ("--set", 'traffic.0.rates=["100Mpps"]', "--set", "record=none")
    run = passed(run_taut(tmp_path, SPEC, *changed, "--json"))

    assert json.loads(run.stdout)["trials"] == run.results  # one document and nothing else
    result = run.results[0]
    assert result["unsent"] > 0
    assert not result["rate_ok"]
    assert any("unsent" in warning for warning in result["warnings"])
    assert result["sums_reconcile"]


def test_a_device_that_dies_fails_its_trial_and_the_next_goes_on(tmp_path: Path):
    with started(tmp_path, LONG_FIRST, draw=True) as taut:
        device = in_a_trial(tmp_path / "run", taut, "taut-forward")
        wait_until_ran(device, 0.5)
        os.kill(device, signal.SIGKILL)
        run = finished(tmp_path, taut)

    assert run.status == 1
    assert [result["status"] for result in run.results] == ["failed", "whole"]
    failure = run.trials[0].meta["failure"]
    assert "died" in failure["reason"]
    assert any("SIGKILL" in line for line in failure["log_tail"])
    assert (run.path / "report.html").is_file()
    assert "1 trials failed" in run.stderr


def test_a_generator_that_dies_fails_its_trial_and_the_next_goes_on(tmp_path: Path):
    with started(tmp_path, LONG_FIRST) as taut:
        generator = in_a_trial(tmp_path / "run", taut, "taut-generate")
        wait_until_ran(generator, 0.5)
        os.kill(generator, signal.SIGKILL)
        run = finished(tmp_path, taut)

    assert [result["status"] for result in run.results] == ["failed", "whole"]
    assert "SIGKILL" in run.trials[0].meta["failure"]["reason"]


# Beside others less may be sent than fills it.
@pytest.mark.alone
@pytest.mark.root
def test_a_full_disk_fails_the_trial_and_leaves_the_earlier_one(small_disk: Path):
    # Half of what it is taken for has room, or it would not be begun.
    spec = SPEC + '[[traffic]]\nname = "much"\nrates = ["500kpps"]\nduration = "1200ms"\n'

    run = run_taut(small_disk, spec)

    assert run.status == 1, run.stderr
    metas = [trial.meta for trial in run.trials]
    assert [meta["status"] for meta in metas] == ["whole", "failed"]
    reason = metas[1]["failure"]["reason"]
    assert "disk is full" in reason or "No space left" in reason
    assert not list(run.path.glob("trials/.tmp-*"))


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder an ordinary user may write in: pytest's own are closed."""
    with tempfile.TemporaryDirectory(prefix="taut-acceptance-") as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.mark.root
def test_without_root_memif_works_and_veth_says_what_it_needs(open_folder: Path):
    tmp_path = open_folder
    (tmp_path / "spec.toml").write_text(SPEC)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if subprocess.run([*nobody, *TAUT, "--version"], capture_output=True, check=False).returncode:
        pytest.skip("this clone lies where only root can read it")
    command = [*nobody, *TAUT, "run"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}

    def as_nobody(out: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, str(tmp_path / "spec.toml"), "--out", str(tmp_path / out), *arguments],
            capture_output=True,
            text=True,
            env=environment,
            timeout=120,
        )

    memif = as_nobody("memif")
    veth = as_nobody("veth", "--set", "device.0.link=veth")

    assert memif.returncode == 0, memif.stderr
    meta = json.loads(next(tmp_path.glob("memif/trials/0*/trial.json")).read_text())
    assert meta["generator"]["memory"] == "no-huge"
    assert veth.returncode == 2
    assert "need root; run as root or use memif" in veth.stderr


def test_ctrl_c_keeps_whole_trials_reports_them_and_ends_with_130(tmp_path: Path):
    with started(tmp_path, SHORT_FIRST, draw=True) as taut:
        wait_for("a trial", lambda: list(tmp_path.glob("run/trials/[0-9]*")), timeout_s=200)
        wait_for("the next one", lambda: child_of(taut.pid, "taut-generate"))
        taut.send_signal(signal.SIGINT)
        run = finished(tmp_path, taut)

    assert run.status == 130
    assert [result["status"] for result in run.results] == ["whole"]
    assert not list(run.path.glob("trials/.tmp-*"))
    assert (run.path / "report.html").is_file()
    assert "--resume" in run.stderr.splitlines()[-1]


@pytest.mark.long
def test_a_second_run_on_the_same_cores_stops_or_waits_and_names_the_first(tmp_path: Path):
    for name in ("first", "second", "third"):
        (tmp_path / name).mkdir()
    # Named: on a large machine the second would take others.
    cores = ("--set", "cores.generator=0", "--set", "cores.device=1")
    with started(tmp_path / "first", SPEC, "--set", "duration=200s", *cores) as first:
        in_a_trial(tmp_path / "first" / "run", first, "taut-generate")
        second = run_taut(tmp_path / "second", SPEC, *cores, wait=False)
        with started(tmp_path / "third", SPEC, *cores) as waiting:
            assert waiting.stderr is not None
            told = next(line for line in waiting.stderr if ") has it" in line)
            # It waits; now the first may end.
            first.send_signal(signal.SIGINT)
            third = passed(finished(tmp_path / "third", waiting))
        assert finished(tmp_path / "first", first).status == 130

    assert second.status == 2
    assert f"pid {first.pid}) has it" in second.stderr
    assert "--wait" in second.stderr
    assert not second.path.exists()
    assert f"pid {first.pid}) has it; waiting for its end" in told
    assert [result["status"] for result in third.results] == ["whole"]
