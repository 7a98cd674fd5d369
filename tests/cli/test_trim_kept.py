"""What `taut trim --keep` leaves on the disk, whatever comes after the last measurement."""

import json
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from host_tree import POLL
from made_trim import PLAN, Tenth
from taut.cli import trim_experiment, trim_process
from taut.core.errors import InterruptedRun, TautError
from taut.experiment.run_manifest import Origin
from taut.host.apply import ApplyReport, Outcome, Result, Wish
from taut.records.documents.trim import TRIM_FILE
from taut.trim import experiment
from taut.trim import job as jobs
from taut.trim.job import Job
from taut.trim.trim import Request
from taut.trim.watched import Process

TEXT = """
name = "kept"
duration = "1s"
[[device]]
driver = "taut_forward"
[[traffic]]
rates = ["10kpps"]
"""
PROCESS = Process(4242, "poller", "poller -l 1", 1, {1: 4243})


def applied(wishes: Sequence[Wish]) -> ApplyReport:
    return ApplyReport([Result(wish, "0", "1", Outcome.IN_FORCE) for wish in wishes])


def interrupt(*_: object, **__: object) -> NoReturn:
    raise KeyboardInterrupt


class NoWindows(Tenth):
    """A bench over a process that was never watched."""

    windows = ()


@pytest.fixture(autouse=True)
def bench(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure nothing, and change no host."""

    @contextmanager
    def measuring(_: object, out: Path, *__: object, **___: object) -> Iterator[Any]:
        out.mkdir()
        yield SimpleNamespace(
            states=SimpleNamespace(situation=lambda: POLL), cores=SimpleNamespace(to_quiet=(1,))
        )

    @contextmanager
    def watching(_: object, out: Path, *__: object, **___: object) -> Iterator[Any]:
        out.mkdir()
        yield SimpleNamespace(host=None)

    monkeypatch.setattr(experiment, "measuring", measuring)
    monkeypatch.setattr(experiment, "PacketsBench", lambda *_: Tenth())
    monkeypatch.setattr(trim_experiment, "check_trim", lambda *_: None)
    monkeypatch.setattr(Job, "check", lambda *_: None)
    monkeypatch.setattr(trim_process, "find_process", lambda *_: PROCESS)
    monkeypatch.setattr(trim_process, "watching", watching)
    monkeypatch.setattr(trim_process, "situation_of", lambda *_: POLL)
    monkeypatch.setattr(trim_process, "StallsBench", lambda *_: NoWindows())
    monkeypatch.setattr(jobs, "nobody_measures", lambda *_: nullcontext())
    monkeypatch.setattr(jobs, "plan_state", lambda *_: PLAN)
    monkeypatch.setattr(jobs, "apply_changes", lambda _, __, wishes: applied(wishes))


def trim_packets(out: Path) -> None:
    job = Job(Request(), keep=True, yes=True, dry_run=False)
    trim_experiment.trim_experiment(
        job, Origin(TEXT), "p99.9", budget="10m", wait=False, as_json=False, out=out
    )


def trim_stalls(out: Path) -> None:
    job = Job(Request(), keep=True, yes=True, dry_run=False)
    trim_process.trim_process(
        job, 4242, cores=None, budget="10m", window_ns=1, wait=False, as_json=False, out=out
    )


def kept_in(out: Path) -> tuple[list[str], bool]:
    """Give what trim.json says that is kept, and whether that is in force."""
    document = json.loads((out / TRIM_FILE).read_text())
    return document["kept"], document["in_force"]


@pytest.mark.parametrize("trim", [trim_packets, trim_stalls])
def test_what_a_trim_found_outlives_an_interrupt_of_its_report(
    trim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trim_experiment, "finish", interrupt)
    monkeypatch.setattr(trim_process, "print_trim", interrupt)

    with pytest.raises(InterruptedRun) as raised:
        trim(tmp_path / "run")

    assert kept_in(tmp_path / "run") == (["R24-now"], True)
    assert str(raised.value).startswith("interrupted: what helps is in force, until `taut host un")


@pytest.mark.parametrize("trim", [trim_packets, trim_stalls])
def test_a_signal_leaves_neither_half_of_the_settings_nor_settings_without_a_reason(
    trim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def apply(_: object, __: object, wishes: Sequence[Wish]) -> ApplyReport:
        os.kill(os.getpid(), signal.SIGINT)
        return applied(wishes)

    monkeypatch.setattr(jobs, "apply_changes", apply)

    with pytest.raises(InterruptedRun, match="what helps is in force"):
        trim(tmp_path / "run")

    assert kept_in(tmp_path / "run") == (["R24-now"], True)


@pytest.mark.parametrize("trim", [trim_packets, trim_stalls])
@pytest.mark.parametrize("in_force", [None, "some"])
def test_what_was_measured_is_reported_where_the_host_could_not_be_changed(
    in_force: str | None, trim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> NoReturn:
        raise OSError(28, "No space left on device", "/var/lib/taut/journal")

    reported: list[object] = []
    monkeypatch.setattr(jobs, "apply_changes", full)
    monkeypatch.setattr(jobs, "describe_applied", lambda _: in_force)
    monkeypatch.setattr(trim_experiment, "finish", lambda run, **_: reported.append(run))
    monkeypatch.setattr(trim_process, "print_trim", lambda run, *_, **__: reported.append(run))

    with pytest.raises(TautError, match=r"^--keep: /var/lib/taut/journal: No space left") as raised:
        trim(tmp_path / "run")

    assert len(reported) == 1
    assert kept_in(tmp_path / "run") == (["R24-now"], in_force is not None)
    assert ("`taut host undo`" in str(raised.value)) is (in_force is not None)
