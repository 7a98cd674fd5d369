from dataclasses import replace
from pathlib import Path

import pytest

from host_tree import POLL, judge, remedied
from taut.host.boot.item import UnitState
from taut.host.check import State
from taut.host.checks.runtime.ksm import CHECK
from taut.host.host import Host
from taut.host.situation import Role

PATH = "/sys/kernel/mm/ksm/run"


@pytest.mark.parametrize("text", ["0\n", "2\n"])
def test_stopped_and_unmerged_pass(tmp_path: Path, text: str) -> None:
    assert judge(CHECK, tmp_path, {PATH: text}).state is State.PASS


def test_pages_that_are_still_merged_are_said(tmp_path: Path) -> None:
    files = {PATH: "0\n", "/sys/kernel/mm/ksm/pages_sharing": "4711\n"}

    assert "4711 pages merged" in judge(CHECK, tmp_path, files).observed


@pytest.mark.parametrize("role", [Role.POLL_CORE, Role.HOUSEKEEPING, Role.KVM_HOST])
def test_merging_is_stopped_in_every_role(tmp_path: Path, role: Role) -> None:
    situation = replace(POLL, role=role)
    assert judge(CHECK, tmp_path, {PATH: "1\n"}, situation).state is State.FAIL

    with remedied(CHECK, tmp_path, situation) as remedies:
        assert [remedy.id for remedy in remedies] == ["R12-now"]


def test_who_would_start_it_again_is_stopped_first(tmp_path: Path) -> None:
    files = {
        PATH: "1\n",
        "/commands/systemctl is-active ksmtuned.service": "active\n",
        "/commands/systemctl is-enabled ksmtuned.service": "enabled\n",
        "/commands/systemctl is-enabled ksm.service": "disabled\n",
    }
    assert judge(CHECK, tmp_path, files).state is State.FAIL

    with remedied(CHECK, tmp_path) as remedies:
        now, boot = remedies
        assert [change.setting.name for change in now.changes] == ["unit ksmtuned.service", PATH]
        assert boot.boot == (UnitState("ksmtuned.service", False),)


def test_a_container_leaves_it_to_the_host(tmp_path: Path) -> None:
    container = replace(POLL, role=Role.CONTAINER)
    assert judge(CHECK, tmp_path, {PATH: "1\n"}, container).state is State.FAIL

    assert CHECK.propose(Host(tmp_path), container)[0].id == "R12-by-hand"


def test_a_kernel_without_it_has_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


def test_what_is_no_mode_is_unknown(tmp_path: Path) -> None:
    for text in ("", "3\n", "\x80\x00\n"):
        assert judge(CHECK, tmp_path, {PATH: text}).state is State.UNKNOWN, text
