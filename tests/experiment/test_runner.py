"""The runner's promises: whole trials or none, failures told, runs resumed. The measuring is made
up here; the acceptance tests do it for real."""

import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from host_tree import POLL, tree
from made_run import MadeTrial, make_raw_trial
from taut.core.errors import InputError, TautError, TrialError
from taut.core.files import write_json
from taut.core.held import held_alone
from taut.experiment import cores as cores_module
from taut.experiment import leftovers, runner
from taut.experiment.cores import Cores
from taut.experiment.plan import Plan, Trial, make_plan
from taut.experiment.progress import Silent
from taut.experiment.quick_figures import QuickFigures
from taut.experiment.runner import (
    Session,
    cores_held,
    measuring,
    open_run,
    pinned_to,
    states_without_effect,
)
from taut.experiment.spec import parse_spec, spec_hash
from taut.experiment.stored import TrialSoFar
from taut.host.host import Host
from taut.host.situation import Situation
from taut.host.state import HostStateError, HostStates
from taut.host.writer import Writer
from taut.records.convert import convert_trial
from taut.records.documents.generator import GeneratorResult
from taut.records.documents.json_form import parse
from taut.records.documents.trial import Failure, TrialDocument
from taut.records.rundir import RunDirectory
from taut.testbed.scope import RunScope

TEXT = """
name = "run"
duration = "1s"
[[device]]
driver = "taut_forward"
[[traffic]]
rates = ["10kpps", "20kpps"]
"""
CORES = Cores(generator=0, device=0, writer=0, runner=0)


class Recorder(Silent):
    def __init__(self) -> None:
        self.finished: list[tuple[str, str, dict[str, Any]]] = []
        self.n_done = -1

    def started(self, plan: Plan, n_done: int) -> None:
        self.n_done = n_done

    def trial_finished(
        self, trial: Trial, document: TrialDocument, figures: QuickFigures | None
    ) -> None:
        self.finished.append((trial.name, document.status, figures))


class Bench:
    """Measures as if; `faults` maps the number of a call to what goes wrong."""

    def __init__(self, faults: dict[int, BaseException] | None = None) -> None:
        self.faults = faults or {}
        self.called: list[str] = []

    def __call__(self, trial: Trial, folder: Path, known: TrialSoFar) -> None:
        self.called.append(trial.name)
        (folder / "logs").mkdir()
        (folder / "packets.parquet").write_text("half")
        fault = self.faults.get(len(self.called) - 1)
        if fault is not None:
            raise fault
        written = make_raw_trial(folder / "raw", MadeTrial(n_packets=2000, n_cold=100))
        sent = parse(GeneratorResult, written, "made")
        known.document = replace(known.document, generator=sent)
        convert_trial(folder / "raw", folder)


def as_found(root: Path) -> HostStates:
    """States of a host that no trial here changes."""

    def nobody_asks() -> Situation:
        raise AssertionError("the host was to be changed")

    host = Host(root)
    return HostStates(host, Writer(host), nobody_asks, "test")


@pytest.fixture
def plan() -> Plan:
    return make_plan(parse_spec(TEXT))


@pytest.fixture
def go(tmp_path: Path, plan: Plan) -> Iterator[Callable[..., tuple[RunDirectory, Recorder]]]:
    with RunScope(tmp_path / "base") as scope:

        def run(bench: Bench, resume: bool = False) -> tuple[RunDirectory, Recorder]:
            out = tmp_path / "run"
            directory = open_run(plan, out, resume)
            if not (out / "manifest.json").exists():
                write_json(out / "manifest.json", {"spec": {"hash": spec_hash(plan.spec)}})
            recorder = Recorder()
            states = as_found(tmp_path)
            Session(directory, scope, CORES, states, recorder, bench).run(plan)
            return RunDirectory(out), recorder

        yield run


def test_a_trial_that_is_planned_again_is_named_once(go, plan: Plan):
    names = tuple(trial.name for trial in plan.trials)

    go(Bench())
    run, _ = go(Bench(), resume=True)

    assert run.manifest().order == names


def test_every_trial_has_its_folder_and_its_line(go, plan: Plan):
    run, recorder = go(Bench())

    assert [t.name for t in run.trials()] == [t.name for t in plan.trials]
    assert all(t.is_whole for t in run.trials())
    figures = recorder.finished[0][2]
    assert 0 < figures.p50_ns < figures.p99_ns
    meta = run.trials()[0].meta
    assert meta.traffic.seed == plan.trials[0].seed
    assert meta.dut.driver in {"taut_forward", "loopback"}


def test_a_failed_trial_is_told_and_the_next_goes_on(go):
    run, recorder = go(Bench({1: TrialError("the device under test died", ["killed by SIGSEGV"])}))

    assert [t.is_whole for t in run.trials()] == [True, False, True, True]
    failed = run.trials()[1]
    assert failed.meta.failure == Failure("the device under test died", ("killed by SIGSEGV",))
    assert not failed.packets.exists()
    assert recorder.finished[1][1] == "failed"


def test_a_full_disk_fails_the_trial_and_leaves_the_earlier_ones(go):
    run, _ = go(Bench({1: OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))}))

    assert [t.is_whole for t in run.trials()] == [True, False, True, True]
    assert "disk is full" in run.trials()[1].meta.failure.reason


def test_ctrl_c_keeps_whole_trials_and_no_half_one(go, tmp_path: Path):
    with pytest.raises(KeyboardInterrupt):
        go(Bench({2: KeyboardInterrupt()}))

    assert [t.is_whole for t in RunDirectory(tmp_path / "run").trials()] == [True, True]
    assert not list((tmp_path / "run/trials").glob(".tmp-*"))
    owner = json.loads(next((tmp_path / "base").glob("*/owner.json")).read_text())
    assert owner["temporary"] == []


def test_all_of_a_trial_is_on_the_disk_before_it_has_its_name(
    go, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    synced: set[Path] = set()
    fsync, rename = os.fsync, Path.rename

    def note_sync(opened: int) -> None:
        fsync(opened)
        synced.add(Path(f"/proc/self/fd/{opened}").readlink())

    def look_and_rename(path: Path, target: Path) -> Path:
        if path.parent == trials:
            inside = [path, *path.rglob("*")]
            assert {trial.name for trial in inside} > {"packets.parquet", "trial.json", "logs"}
            assert set(inside) <= synced
            synced.clear()
        return rename(path, target)

    trials = tmp_path / "run" / "trials"
    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(Path, "rename", look_and_rename)

    go(Bench())

    assert trials in synced


def test_resume_runs_only_what_is_missing_or_failed(go, plan: Plan):
    with pytest.raises(KeyboardInterrupt):
        go(Bench({1: TrialError("x"), 3: KeyboardInterrupt()}))
    bench = Bench()

    run, recorder = go(bench, resume=True)

    assert bench.called == [plan.trials[1].name, plan.trials[3].name]
    assert recorder.n_done == 2
    assert all(t.is_whole for t in run.trials())


def test_a_state_that_nothing_here_can_make_is_named_before_it_is_measured(tmp_path: Path):
    hosts = '[[host]]\nname = "as found"\n[[host]]\nname = "shallow"\nonly = ["R19-now"]\n'
    plan = make_plan(parse_spec(TEXT + hosts))

    (said,) = states_without_effect(plan, tree(tmp_path, {}), lambda: POLL)

    assert said.startswith("host 'shallow' changes nothing here, it is measured as found: R19-now")
    assert "no idle states (cpuidle)" in said


def test_another_experiment_is_not_mixed_in(go, tmp_path: Path):
    run, _ = go(Bench())
    other = make_plan(parse_spec(TEXT, ["seed=9"]))

    with pytest.raises(InputError, match="holds another experiment"):
        open_run(other, run.path, resume=True)
    with pytest.raises(InputError, match="not empty; give another --out, or complete it"):
        open_run(other, run.path, resume=False)
    with pytest.raises(InputError, match="not empty; give another --out, or leave it out"):
        open_run(other, run.path, resume=None)


def test_a_run_into_which_another_taut_measures_is_refused(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def begins(*_: object, **__: object) -> None:
        raise AssertionError("it went on")

    monkeypatch.setattr(runner, "cores_held", begins)
    out = tmp_path / "run"
    open_run(plan, out, resume=False)

    with held_alone(out), pytest.raises(InputError) as raised, measuring(plan, out, resume=True):
        pass

    assert str(raised.value) == (
        f"{out}: another taut measures into it; wait for its end, or give another --out"
    )
    assert (out / "trials").is_dir()


def test_a_run_that_waited_chooses_its_cores_anew(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """All were busy at first: an apply has every core while it changes the host."""
    busy = [(0, 1, 2, 3), ()]
    wanted: list[set[int]] = []

    @contextmanager
    def waits_once(cores: set[int], **_: object) -> Iterator[bool]:
        wanted.append(cores)
        yield len(wanted) == 1

    monkeypatch.setattr(cores_module, "cpuset_cores", lambda: (0, 1, 2, 3))
    monkeypatch.setattr(runner, "busy_cores", lambda _: busy[len(wanted)])
    monkeypatch.setattr(runner, "measuring_on", waits_once)
    host = tree(tmp_path, {"/sys/devices/system/cpu/online": "0-3\n"})

    with cores_held(host, plan.spec, wait=True, waiting=lambda _: None) as cores:
        assert wanted == [{0, 1}, {cores.generator, cores.device}]

    assert cores.runner not in cores.measured


def test_a_run_that_changes_the_host_is_refused_beside_another(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    base = tmp_path / "base"
    monkeypatch.setattr("taut.testbed.scope.default_base", lambda: base)
    monkeypatch.setattr(runner, "cores_held", lambda *_, **__: nullcontext(CORES))
    monkeypatch.setattr(leftovers, "clean", lambda *_: [])
    for refuse in ("refuse_partition", "refuse_applied"):
        monkeypatch.setattr(runner, refuse, lambda _: None)

    def another_measures(cores: Iterable[int]) -> None:
        raise InputError(f"another measures on one of {len(tuple(cores))}")

    monkeypatch.setattr(runner, "refuse_others", another_measures)

    with (
        pytest.raises(InputError, match=r"another measures on one of [1-9]"),
        measuring(plan, tmp_path / "run", in_states=True),
    ):
        pass

    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("in_states", [False, True])
def test_a_host_that_cannot_be_put_back_stops_only_who_changes_it(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_states: bool
):
    monkeypatch.setattr("taut.testbed.scope.default_base", lambda: tmp_path / "base")
    monkeypatch.setattr(runner, "cores_held", lambda *_, **__: nullcontext(CORES))
    for part in ("remove_leftovers", "sweep"):
        monkeypatch.setattr(leftovers, part, list)
    monkeypatch.setattr(leftovers, "_dead", lambda _: ["run ab12"])

    def refuse(*_: object) -> list[str]:
        raise TautError("changed by somebody else meanwhile")

    def begins(_: Host) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(leftovers, "_put_back", refuse)
    monkeypatch.setattr(runner, "refuse_partition", begins)

    with (
        pytest.raises(TautError if in_states else KeyboardInterrupt),
        measuring(plan, tmp_path / "run", in_states=in_states),
    ):
        pass


def test_what_a_dead_run_left_of_a_trial_goes_before_the_next_measures(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Whatever its name: of a soak that goes on, no trial is called that again."""
    monkeypatch.setattr("taut.testbed.scope.default_base", lambda: tmp_path / "base")
    monkeypatch.setattr(runner, "cores_held", lambda *_, **__: nullcontext(CORES))
    monkeypatch.setattr(leftovers, "clean", lambda *_: [])

    def begins(_: Host) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "refuse_partition", begins)
    out = open_run(plan, tmp_path / "run", resume=False)
    write_json(out.path / "manifest.json", {"spec": {"hash": spec_hash(plan.spec)}})
    (out.trials_path / ".tmp-007-gone-r1" / "raw").mkdir(parents=True)
    (out.trials_path / "000-kept-r1").mkdir()

    with pytest.raises(KeyboardInterrupt), measuring(plan, out.path, resume=True):
        pass

    assert [path.name for path in out.trials_path.iterdir()] == ["000-kept-r1"]


def test_out_that_is_a_file_is_one_line(plan: Plan, tmp_path: Path):
    (tmp_path / "file").write_text("")

    with pytest.raises(InputError, match="not a folder"):
        open_run(plan, tmp_path / "file", resume=False)


def test_bad_input_at_the_first_trial_ends_the_run(go):
    with pytest.raises(InputError, match="clock"):
        go(Bench({0: InputError("clock: not usable")}))


def test_bad_input_of_one_device_later_is_its_failure(go):
    run, _ = go(Bench({2: TautError("taut-clock: no answer")}))

    assert [t.is_whole for t in run.trials()] == [True, True, False, True]


def test_a_host_that_cannot_be_put_back_ends_the_run(go):
    with pytest.raises(HostStateError, match="changed by somebody else"):
        go(Bench({1: HostStateError("vm.stat_interval: changed by somebody else")}))

    run, _ = go(bench := Bench(), resume=True)

    assert all(t.is_whole for t in run.trials())
    assert len(bench.called) == 3


def test_the_runner_is_pinned_and_set_free():
    before = os.sched_getaffinity(0)
    core = min(before)

    with pinned_to(core):
        assert os.sched_getaffinity(0) == {core}
    assert os.sched_getaffinity(0) == before
