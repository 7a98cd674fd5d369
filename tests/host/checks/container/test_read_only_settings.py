from dataclasses import replace
from pathlib import Path

import pytest

from host_tree import POLL, judge
from taut.host.check import State
from taut.host.checks.container.read_only_settings import CHECK
from taut.host.host import Host
from taut.host.situation import Role

CONTAINER = replace(POLL, role=Role.CONTAINER)
MOUNTS = "/proc/self/mounts"
PROC = "proc /proc proc rw,nosuid 0 0\n"


def test_writable_mounts_pass(tmp_path: Path) -> None:
    files = {MOUNTS: f"{PROC}sysfs /sys sysfs rw,nosuid 0 0\n"}

    assert judge(CHECK, tmp_path, files, CONTAINER).state is State.PASS


def test_read_only_mounts_send_the_plan_to_the_host(tmp_path: Path) -> None:
    text = f"{PROC}proc /proc/sys proc ro 0 0\nsysfs /sys sysfs ro,nosuid 0 0\n"

    finding = judge(CHECK, tmp_path, {MOUNTS: text}, CONTAINER)

    assert finding.state is State.FAIL
    assert finding.observed == "read-only: /sys, /proc/sys"
    (remedy,) = CHECK.propose(Host(tmp_path), CONTAINER)
    assert "taut host plan --role poll-core --cores 2-3" in remedy.by_hand
    assert not remedy.changes


@pytest.mark.parametrize("text", ["", "sysfs\n", "a b c d\n"])
def test_absent_or_malformed_is_unknown(tmp_path: Path, text: str) -> None:
    assert judge(CHECK, tmp_path / "bare", {}, CONTAINER).state is State.UNKNOWN
    assert judge(CHECK, tmp_path, {MOUNTS: text}, CONTAINER).state is State.UNKNOWN


def test_other_roles_are_not_asked(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}, POLL).state is State.NOT_APPLICABLE
