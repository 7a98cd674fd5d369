from dataclasses import replace
from pathlib import Path

import pytest

from host_tree import POLL, judge, remedied
from taut.host.boot.item import Sysctl
from taut.host.check import State
from taut.host.checks.runtime.proactive_compaction import CHECK
from taut.host.host import Host
from taut.host.situation import Role

PATH = "/proc/sys/vm/compaction_proactiveness"


def test_off_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "0\n"}).state is State.PASS


@pytest.mark.parametrize("role", [Role.POLL_CORE, Role.HOUSEKEEPING, Role.KVM_GUEST])
def test_on_fails_and_is_switched_off_in_every_role(tmp_path: Path, role: Role) -> None:
    situation = replace(POLL, role=role)
    finding = judge(CHECK, tmp_path, {PATH: "20\n"}, situation)
    assert finding.state is State.FAIL
    assert finding.observed == f"{PATH} = 20"

    with remedied(CHECK, tmp_path, situation) as remedies:
        assert [remedy.id for remedy in remedies] == ["R14-now", "R14-boot"]
        assert remedies[1].boot == (Sysctl("vm.compaction_proactiveness", "0"),)


def test_a_container_leaves_it_to_the_host(tmp_path: Path) -> None:
    container = replace(POLL, role=Role.CONTAINER)
    assert judge(CHECK, tmp_path, {PATH: "20\n"}, container).state is State.FAIL

    assert CHECK.propose(Host(tmp_path), container)[0].id == "R14-by-hand"


def test_a_kernel_without_it_has_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


def test_what_is_no_number_is_unknown(tmp_path: Path) -> None:
    for text in ("", "off\n", "\x80\x00\n"):
        assert judge(CHECK, tmp_path, {PATH: text}).state is State.UNKNOWN, text
