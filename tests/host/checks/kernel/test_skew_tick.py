from dataclasses import replace
from pathlib import Path

from host_tree import POLL, judge, tree
from taut.host.check import State
from taut.host.checks.kernel.skew_tick import CHECK
from taut.host.situation import Role

PATH = "/proc/cmdline"
TICKLESS = "/sys/devices/system/cpu/nohz_full"
MANY = replace(POLL, role=Role.KVM_HOST, online=tuple(range(16)))


def test_spread_ticks_pass(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "skew_tick=1\n"}, MANY).state is State.PASS


def test_many_ticks_at_once_fail_and_are_remedied_at_boot(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {PATH: "skew_tick=0\n"}, MANY)

    assert finding.state is State.FAIL
    assert "16 cores tick" in finding.observed
    (remedy,) = CHECK.propose(tree(tmp_path, {}), MANY)
    assert str(remedy.boot[0]) == "skew_tick=1"


def test_few_ticks_do_not_matter(tmp_path: Path) -> None:
    files = {PATH: "quiet\n", TICKLESS: "2-15\n"}

    assert judge(CHECK, tmp_path, files, MANY).state is State.PASS


def test_tickless_poll_cores_do_not_care(tmp_path: Path) -> None:
    files = {PATH: "quiet\n", TICKLESS: "2-3\n"}

    assert judge(CHECK, tmp_path, files).state is State.NOT_APPLICABLE


def test_without_a_command_line_nothing_is_known(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}, MANY).state is State.UNKNOWN


def test_a_malformed_value_is_none(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "skew_tick=yes\n"}, MANY).state is State.FAIL
