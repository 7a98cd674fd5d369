"""Groups of resctrl on a tree of its files: made, read, removed, and refused."""

import errno
from pathlib import Path

import pytest

from host_tree import TreeWriter, put, snapshot, tree
from taut.host.setting import HALF_MADE
from taut.host.settings import ResctrlGroup, ResctrlSchemata

FOLDER = "/sys/fs/resctrl"
FILES = {
    f"{FOLDER}/schemata": "    MB:0=100;1=100\n    L3:0=7ff;1=7ff\n",
    f"{FOLDER}/cpus_list": "0-3\n",
}
GROUP, DEFAULT = ResctrlGroup("taut"), ResctrlSchemata()


def test_a_group_is_made_read_and_removed(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    before = snapshot(tmp_path)

    assert GROUP.read(host) is None
    GROUP.write(TreeWriter(host), "2-3\nL3:0=f")
    assert GROUP.read(host) == "2-3\nMB:0=100;1=100\nL3:0=f;1=7ff"
    assert host.read(f"{FOLDER}/cpus_list") == "0-1"
    GROUP.write(TreeWriter(host), None)

    assert snapshot(tmp_path) == before


def test_the_default_group_takes_some_resources_and_gets_all_back(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    before, old = snapshot(tmp_path), DEFAULT.read(host)

    DEFAULT.write(TreeWriter(host), "L3:0=7f0\nMB:1=50")
    assert DEFAULT.read(host) == "MB:0=100;1=50\nL3:0=7f0;1=7ff"
    DEFAULT.write(TreeWriter(host), old)

    assert snapshot(tmp_path) == before


@pytest.mark.parametrize(
    ("in_force", "value", "agrees"),
    [
        ("2-3\nL3:0=f;1=7ff\nMB:0=100", "2,3\nL3:0=00f", True),
        ("2-3\nL3:0=f;1=7ff", "2-3\nL3:0=1f", False),
        ("2\nL3:0=f", "2-3\nL3:0=f", False),
        ("2-3\nL3:0=f", "2-3\nMB:0=100", False),
        (HALF_MADE, "2-3\nL3:0=f", False),
        (None, None, True),
        (None, "2-3\nL3:0=f", False),
    ],
)
def test_values_agree_in_what_is_asked_for(in_force, value, agrees) -> None:
    assert GROUP.agrees(in_force, value) is agrees


def test_one_that_died_between_its_steps_is_half_made(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    TreeWriter(host).make_folder(f"{FOLDER}/taut")

    assert GROUP.read(host) == HALF_MADE
    GROUP.write(TreeWriter(host), HALF_MADE)
    assert GROUP.read(host) is None


def test_ways_that_the_kernel_refuses_leave_no_group(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    before = snapshot(tmp_path)
    writer = TreeWriter(host, refusals={f"{FOLDER}/taut/schemata": errno.EINVAL})

    with pytest.raises(OSError, match="schemata"):
        GROUP.write(writer, "2-3\nL3:0=5")

    assert snapshot(tmp_path) == before


def test_a_processor_without_another_group_says_so(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    writer = TreeWriter(host, refusals={f"{FOLDER}/taut": errno.ENOSPC})

    with pytest.raises(OSError, match="taut") as raised:
        GROUP.write(writer, "2-3\nL3:0=f")

    assert GROUP.unmovable(raised.value) == "no group left (info/*/num_closids)"
    assert GROUP.unmovable(OSError(errno.EINVAL, "x")) is None


def test_a_machine_without_resctrl_has_neither(tmp_path: Path) -> None:
    host = tree(tmp_path, {})
    put(tmp_path, "/sys/fs/kept", "")

    assert GROUP.read(host) is None
    assert DEFAULT.read(host) is None
