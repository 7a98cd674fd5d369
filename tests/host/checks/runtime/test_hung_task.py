from dataclasses import replace
from pathlib import Path

from host_tree import POLL, judge, remedied
from taut.host.check import State
from taut.host.checks.runtime.hung_task import CHECK
from taut.host.host import Host
from taut.host.situation import Role

PATH = "/proc/sys/kernel/hung_task_timeout_secs"


def test_ten_minutes_and_never_are_good(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "600\n"}).state is State.PASS
    assert judge(CHECK, tmp_path, {PATH: "0\n"}).state is State.PASS


def test_two_minutes_fail_and_are_remedied(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "120\n"}).state is State.FAIL

    with remedied(CHECK, tmp_path) as remedies:
        assert [remedy.id for remedy in remedies] == ["R21-now", "R21-boot"]


def test_a_container_leaves_it_to_the_host(tmp_path: Path) -> None:
    container = replace(POLL, role=Role.CONTAINER)
    assert judge(CHECK, tmp_path, {PATH: "120\n"}, container).state is State.FAIL

    (remedy,) = CHECK.propose(Host(tmp_path), container)

    assert remedy.id == "R21-by-hand"


def test_absent_and_malformed(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE
    assert judge(CHECK, tmp_path, {PATH: "soon\n"}).state is State.UNKNOWN
