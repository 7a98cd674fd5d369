"""Control groups in folders that are made up."""

from pathlib import Path

import pytest

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


def test_cpuset_stays_for_threads_would_lose_their_cores(tmp_path: Path, control: Path) -> None:
    with controllers_kept(tmp_path):
        control.write_text("cpuset memory pids\n")

    assert control.read_text() == "cpuset memory pids\n"


def test_they_stay_while_another_container_lasts(tmp_path: Path, control: Path) -> None:
    (tmp_path / "taut-ab12-c1").mkdir()
    with controllers_kept(tmp_path):
        control.write_text("cpu memory pids\n")

    assert control.read_text() == "cpu memory pids\n"


def test_in_version_1_there_is_nothing_to_take_back(tmp_path: Path) -> None:
    with controllers_kept(tmp_path):
        pass

    assert list(tmp_path.iterdir()) == []
