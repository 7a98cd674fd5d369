"""Control groups in folders that are made up."""

from pathlib import Path

import pytest

from taut.testbed import oci_runtime
from taut.testbed.control_groups import controllers_kept


@pytest.fixture
def control(tmp_path: Path) -> Path:
    """What the root of a unified hierarchy hands out at first."""
    file = tmp_path / "cgroup.subtree_control"
    file.write_text("memory pids\n")
    return file


def test_controllers_that_a_runtime_had_handed_out_are_taken_back(
    tmp_path: Path, control: Path
) -> None:
    with controllers_kept(tmp_path):
        control.write_text("cpu memory pids\n")

    assert control.read_text() == "-cpu"


def test_they_stay_while_another_container_lasts(tmp_path: Path, control: Path) -> None:
    (tmp_path / "taut-ab12-c1").mkdir()
    with controllers_kept(tmp_path):
        control.write_text("cpu memory pids\n")

    assert control.read_text() == "cpu memory pids\n"


def test_in_version_1_there_is_nothing_to_take_back(tmp_path: Path) -> None:
    with controllers_kept(tmp_path):
        pass

    assert list(tmp_path.iterdir()) == []


def test_asking_whether_a_runtime_works_leaves_the_root_as_it_was(
    tmp_path: Path, control: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = tmp_path / "runtime"
    runtime.write_text(f"#!/bin/sh\necho cpu memory pids >{control}\n")
    runtime.chmod(0o755)
    monkeypatch.setattr(oci_runtime, "controllers_kept", lambda: controllers_kept(tmp_path))

    assert oci_runtime.cannot_run(str(runtime)) is None

    assert control.read_text() == "-cpu"
