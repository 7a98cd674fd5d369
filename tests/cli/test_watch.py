"""`taut watch`: the cores that it leaves to what is measured."""

import os
from pathlib import Path

import pytest

from taut.cli import watch_job
from taut.testbed import core_locks

MINE = {2, 3, 4}


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What a watch on cores 2 to 4 asks of the kernel for itself; its locks are this test's own."""
    asked: dict[str, object] = {}
    monkeypatch.setattr(core_locks, "_name", lambda core: f"\0test-{os.getpid()}-{core}".encode())
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(MINE))
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cores: asked.update(cores=cores))
    monkeypatch.setattr(os, "nice", lambda by: asked.update(nice=by))
    return asked


def test_it_leaves_cores_on_which_no_program_is_yet(
    bound: dict[str, object], tmp_path: Path
) -> None:
    # The floor of a run, or a device that is the kernel: nothing is bound to the device's core.
    with core_locks.measuring_on([2, 3]):
        assert watch_job._leave_measured_cores(tmp_path) is None

    assert bound == {"cores": {4}}


def test_where_none_is_free_it_is_beside_taut_itself(
    bound: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_job, "taut_cores", lambda _: {0, 3})

    with core_locks.measuring_on(MINE):
        warning = watch_job._leave_measured_cores(tmp_path)

    assert warning is not None
    assert warning.startswith("warning: no core is free of the measurement")
    assert bound == {"cores": {3}, "nice": 19}
