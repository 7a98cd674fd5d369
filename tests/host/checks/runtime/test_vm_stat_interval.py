from dataclasses import replace
from pathlib import Path

import pytest

from host_tree import POLL, judge, remedied
from taut.host.check import State
from taut.host.checks.runtime.vm_stat_interval import CHECK
from taut.host.situation import Role

PATH = "/proc/sys/vm/stat_interval"


def test_ten_seconds_are_enough(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "10\n"}).state is State.PASS


@pytest.mark.parametrize("role", [Role.POLL_CORE, Role.KVM_HOST, Role.KVM_GUEST])
def test_one_second_fails_and_is_remedied(tmp_path: Path, role: Role) -> None:
    situation = replace(POLL, role=role)
    assert judge(CHECK, tmp_path, {PATH: "1\n"}, situation).state is State.FAIL

    with remedied(CHECK, tmp_path, situation) as remedies:
        assert [remedy.id for remedy in remedies] == ["R06-now", "R06-boot"]


@pytest.mark.parametrize("role", [Role.HOUSEKEEPING, Role.CONTAINER])
def test_where_no_core_of_ours_polls_it_is_not_asked(tmp_path: Path, role: Role) -> None:
    finding = judge(CHECK, tmp_path, {PATH: "1\n"}, replace(POLL, role=role))

    assert finding.state is State.NOT_APPLICABLE


def test_a_kernel_without_it_has_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


def test_what_is_no_number_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "often\n"}).state is State.UNKNOWN
