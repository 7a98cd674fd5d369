from dataclasses import replace
from pathlib import Path

import pytest

from host_tree import POLL, judge
from taut.host.check import State
from taut.host.checks.container.partition_validity import CHECK
from taut.host.host import Host
from taut.host.situation import Role, Watched

CONTAINER = replace(POLL, role=Role.CONTAINER)
PATH = "/sys/fs/cgroup/cpuset.cpus.partition"


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("isolated\n", State.PASS),
        ("root\n", State.PASS),
        ("isolated invalid (Cpu list in cpuset.cpus not exclusive)\n", State.FAIL),
        ("root invalid\n", State.FAIL),
        ("member\n", State.NOT_APPLICABLE),
        ("whatever\n", State.UNKNOWN),
    ],
)
def test_the_kernel_says_whether_it_is_valid(tmp_path: Path, text: str, state: State) -> None:
    finding = judge(CHECK, tmp_path, {PATH: text}, CONTAINER)

    assert finding.state is state
    if state is State.FAIL:
        assert text.strip() in finding.observed
        (remedy,) = CHECK.propose(Host(tmp_path), CONTAINER)
        assert "isolated" in remedy.by_hand


def test_one_that_was_invalid_while_watched_fails(tmp_path: Path) -> None:
    watched = Watched(5.0, {PATH: "isolated"}, {PATH: "isolated invalid (hotplug)"})

    finding = judge(CHECK, tmp_path, {PATH: "isolated\n"}, replace(CONTAINER, watched=watched))

    assert finding.state is State.FAIL
    assert "hotplug" in finding.observed


def test_cgroup_v1_has_none(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}, CONTAINER).state is State.NOT_APPLICABLE


def test_other_roles_are_not_asked(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "root invalid\n"}, POLL).state is State.NOT_APPLICABLE
