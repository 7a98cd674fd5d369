from dataclasses import replace
from pathlib import Path

import pytest

from host_tree import BARE_METAL, POLL, judge, tree
from taut.host.check import State
from taut.host.checks.kernel.idle_poll import CHECK
from taut.host.situation import Role

PATH = "/proc/cmdline"


@pytest.mark.parametrize("line", ["quiet", "idle=halt", "idle"])
def test_without_it_all_is_well(line: str, tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: f"{line}\n"}).state is State.PASS


@pytest.mark.parametrize("role", [Role.KVM_GUEST, Role.HOUSEKEEPING])
def test_a_guest_and_a_housekeeper_should_not_have_it(role: Role, tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {PATH: "idle=poll\n"}, replace(POLL, role=role))

    assert finding.state is State.FAIL
    (remedy,) = CHECK.propose(tree(tmp_path, {}), POLL)
    assert "remove" in remedy.by_hand


def test_bare_metal_may_have_it_and_is_never_told_to(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "idle=poll\n"}).state is State.PASS
    assert not any(remedy.boot for remedy in CHECK.propose(tree(tmp_path, {}), POLL))


def test_other_processors_have_no_such_parameter(tmp_path: Path) -> None:
    arm = replace(POLL, machine=replace(BARE_METAL, vendor="arm"))

    assert judge(CHECK, tmp_path, {PATH: "idle=poll\n"}, arm).state is State.NOT_APPLICABLE


def test_without_a_command_line_nothing_is_known(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.UNKNOWN
