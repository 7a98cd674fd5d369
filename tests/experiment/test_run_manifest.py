"""What a run's manifest says of a resumed run: the machine of each part."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from taut.analysis.judging import required_by
from taut.core.files import write_json
from taut.dut.drivers.testpmd import TestpmdDriver
from taut.experiment.cores import Cores
from taut.experiment.plan import Trial, make_plan
from taut.experiment.run_manifest import (
    NO_ORIGIN,
    Origin,
    _changed,
    describe_run,
    hash_programs,
)
from taut.experiment.runner import open_run
from taut.experiment.spec import parse_spec
from taut.experiment.stored import trial_document
from taut.host.host import Host
from taut.records.documents.json_form import plain
from taut.records.documents.manifest import Applied, Manifest, Program, Tool
from taut.records.documents.trial import TrialDocument
from taut.records.rundir import RunDirectory

CORES = Cores(generator=0, device=0, writer=0, runner=0)
SPEC = """
name = "made"
duration = "1s"
[[device]]
driver = "taut_forward"
[[traffic]]
rates = ["10kpps"]
"""


@pytest.fixture
def described(tmp_path: Path):
    """Describe a run on a machine with a processor and a kernel; give what that warns of."""
    run = RunDirectory(tmp_path / "run")
    run.trials_path.mkdir(parents=True)

    def on(
        processor: str, kernel: str, cores: Cores = CORES, asked: Sequence[str] = ()
    ) -> tuple[list[str], RunDirectory]:
        proc = tmp_path / "machine" / "proc"
        (proc / "sys/kernel").mkdir(parents=True, exist_ok=True)
        (proc / "cpuinfo").write_text(f"model name : {processor}\n")
        (proc / "sys/kernel/osrelease").write_text(f"{kernel}\n")
        host = Host(tmp_path / "machine")
        plan = make_plan(parse_spec(SPEC, asked))
        return describe_run(run, plan, NO_ORIGIN, host, cores, ["as ever"], []), run

    return on


def test_a_password_of_the_experiment_is_not_written_down_and_the_run_resumed(tmp_path: Path):
    device = 'driver = "command"\nname = "app"\noptions = { argv = ["x", "--password=hunter1"] }'
    text = SPEC.replace('driver = "taut_forward"', device)
    asked = ['device.app.options.argv=["x", "{port0}", "--dsn=postgresql://u:hunter2@db/x"]']
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cmdline").write_text("quiet token=hunter3\n")
    plan, out = make_plan(parse_spec(text, asked)), tmp_path / "run"

    for resume in (False, True):
        run = open_run(plan, out, resume)
        origin = Origin(text, overrides=asked)
        assert describe_run(run, plan, origin, Host(tmp_path), CORES, [], []) == []
    trials = json.dumps([plain(trial_document(trial, CORES)) for trial in plan.trials])

    written = (out / "manifest.json").read_text()
    assert "hunter" not in written + trials
    assert written.count("postgresql://u:***@db/x") == 2
    assert "postgresql://u:***@db/x" in trials
    assert "quiet token=***" in written


def test_a_run_resumed_on_another_machine_says_so(described):
    assert described("one", "6.1")[0] == []

    said, run = described("another", "6.1")

    assert said == ["resumed: processor another, before one: this run has trials of both"]
    assert run.manifest().warnings == ("as ever", *said)


def test_a_resumed_run_is_judged_by_what_is_required_now(described):
    described("one", "6.1")
    _, run = described("one", "6.1", asked=["require=loss = 0"])

    assert [one.text for one in required_by(run)] == ["loss = 0"]
    assert len(run.manifest().resumed or ()) == 1


def test_a_run_is_compared_with_where_it_measured_last(described):
    described("one", "6.1")
    described("one", "6.12")

    said, run = described("one", "6.12")

    assert said == []
    assert [one for one in run.manifest().warnings if "kernel 6.12, before 6.1" in one]


def test_a_run_that_goes_on_on_other_cores_says_so(described):
    beside_another = Cores(generator=2, device=3, writer=0, runner=0)
    alone = replace(beside_another, generator=0, device=1)
    _, run = described("one", "6.1", beside_another)
    for number, status in enumerate(("whole", "failed")):
        cores = (beside_another if status == "whole" else alone).document()
        folder = run.trials_path / f"00{number}-made"
        folder.mkdir()
        write_json(folder / "trial.json", plain(TrialDocument(status=status, cores=cores)))

    assert described("one", "6.1", beside_another)[0] == []
    said, run = described("one", "6.1", alone)

    assert said == [
        "resumed: generator core 0, before 2: this run has trials of both",
        "resumed: device core 1, before 3: this run has trials of both",
    ]
    assert run.manifest().warnings == ("as ever", *said)


def test_a_run_that_goes_on_with_another_version_of_a_device_says_so(tmp_path, monkeypatch):
    (tmp_path / "proc").mkdir()
    plan = make_plan(
        parse_spec(SPEC.replace("taut_forward", "testpmd"), ["repetitions=2", "floor=false"])
    )
    run = RunDirectory(tmp_path / "run")
    first, second = plan.trials
    version = "DPDK 22.11"
    monkeypatch.setattr(TestpmdDriver, "version", lambda _: version)

    def measured(trial: Trial) -> None:
        (run.trials_path / trial.name).mkdir(parents=True)
        write_json(run.trials_path / trial.name / "trial.json", plain(trial_document(trial, CORES)))

    def described() -> list[str]:
        return describe_run(run, plan, NO_ORIGIN, Host(tmp_path), CORES, [], [])

    measured(first)
    assert described() == []
    assert described() == []
    version = "DPDK 25.11"
    assert described() == [
        "resumed: device testpmd: DPDK 25.11, before DPDK 22.11: this run has trials of both"
    ]
    measured(second)
    version = "DPDK 26.03"
    assert described() == []


def test_a_run_that_goes_on_with_another_build_of_a_program_says_so(tmp_path: Path):
    """What a user's own program is, its version does not say: the manifest has its hash."""
    program, script = tmp_path / "prog", tmp_path / "what.lua"
    argv = json.dumps([str(program), "{port0}", str(script), "--mode=x", "y" * 9999])
    device = f'driver = "command"\nname = "app"\noptions = {{ argv = {argv} }}'
    plan = make_plan(parse_spec(SPEC.replace('driver = "taut_forward"', device)))
    (tmp_path / "proc").mkdir()
    program.touch(mode=0o755)

    def described(built: str, told: str) -> list[str]:
        program.write_text(built)
        script.write_text(told)
        run = open_run(plan, tmp_path / "run", (tmp_path / "run").exists())
        return describe_run(run, plan, NO_ORIGIN, Host(tmp_path), CORES, [], [])

    def sha(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    assert described("1", "a") == []
    assert described("1", "a") == []
    assert described("2", "b") == [
        f"resumed: {path} (SHA-256) {sha(here)}, before {sha(was)}: this run has trials of both"
        for path, here, was in ((program, "2", "1"), (script, "b", "a"))
    ]
    assert described("2", "b") == []
    inputs = RunDirectory(tmp_path / "run").manifest().inputs
    assert inputs is not None
    assert inputs.keys() == {str(program), str(script)}


def test_a_program_that_its_place_has_itself_is_not_hashed(tmp_path: Path):
    program = tmp_path / "root/opt/prog"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    device = """driver = "command"
name = "app"
options = { argv = ["/bin/sh", "/opt/prog"] }
[[placement]]
name = "container"
options = { root = "root" }"""
    text = SPEC.replace('driver = "taut_forward"', device)
    (tmp_path / "root/bin").mkdir()
    (tmp_path / "root/bin/sh").touch(mode=0o755)

    def hashed(text: str) -> Mapping[str, str]:
        return hash_programs(make_plan(parse_spec(text, source=str(tmp_path / "x.toml"))))

    assert hashed(text) == {}
    assert hashed(text.replace('options = { root = "root" }', "")).keys() == {"/bin/sh"}


def test_a_run_without_hashes_of_programs_can_be_resumed(tmp_path: Path):
    (tmp_path / "proc").mkdir()
    device = 'driver = "command"\nname = "app"\noptions = { argv = ["true"] }'
    plan = make_plan(parse_spec(SPEC.replace('driver = "taut_forward"', device)))
    run = open_run(plan, tmp_path / "run", resume=False)
    describe_run(run, plan, NO_ORIGIN, Host(tmp_path), CORES, [], [])
    of_before = plain(run.manifest())
    write_json(run.path / "manifest.json", {**of_before, "inputs": {}})

    open_run(plan, run.path, resume=True)

    assert describe_run(run, plan, NO_ORIGIN, Host(tmp_path), CORES, [], []) == []


@pytest.mark.parametrize(
    ("before", "now"), [("Linux 6.1", "Linux 6.12"), ("unknown", "DPDK 25.11")]
)
def test_a_kernel_is_told_as_such_and_an_unknown_version_is_no_other(
    tmp_path, monkeypatch, before, now
):
    (tmp_path / "proc").mkdir()
    plan = make_plan(
        parse_spec(SPEC.replace("taut_forward", "testpmd"), ["repetitions=2", "floor=false"])
    )
    run, trial = RunDirectory(tmp_path / "run"), plan.trials[0]
    (run.trials_path / trial.name).mkdir(parents=True)
    monkeypatch.setattr(TestpmdDriver, "version", lambda _: before)
    write_json(run.trials_path / trial.name / "trial.json", plain(trial_document(trial, CORES)))
    describe_run(run, plan, NO_ORIGIN, Host(tmp_path), CORES, [], [])

    monkeypatch.setattr(TestpmdDriver, "version", lambda _: now)

    assert describe_run(run, plan, NO_ORIGIN, Host(tmp_path), CORES, [], []) == []


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (
            {"host": {"cmdline": "quiet isolcpus=3"}},
            "kernel command line quiet isolcpus=3, before quiet",
        ),
        ({"applied": Applied(9, ("R06", "R24"))}, "by `taut host apply` R06, R24, before nothing"),
        ({"placements": {"container": "runc 1.2"}}, "placement container: runc 1.2, before runc 1"),
        (
            {"taut": Tool("1", binaries={"taut-forward": Program("/x", "b" * 64)})},
            "taut's programs (SHA-256) ",
        ),
        ({"placements": {"vm": "QEMU 10"}, "host": {}}, None),
    ],
    ids=["kernel", "applied", "placement", "programs", "not noted"],
)
def test_a_machine_that_is_tuned_or_built_otherwise_is_another(other, said):
    first = Manifest(
        host={"cmdline": "quiet"},
        placements={"container": "runc 1"},
        taut=Tool("1", binaries={"taut-forward": Program("/x", "a" * 64)}),
    )

    changed = _changed(first, replace(first, **other))

    assert _changed(first, first) == []
    assert len(changed) == (said is not None)
    assert said is None or changed[0].startswith(f"resumed: {said}")
