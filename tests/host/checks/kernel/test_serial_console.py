from dataclasses import replace
from pathlib import Path

from host_tree import POLL, judge, remedied, tree
from taut.host.check import State
from taut.host.checks.kernel.serial_console import CHECK
from taut.host.situation import Role

LEVELS = "/proc/sys/kernel/printk"
ACTIVE = "/sys/class/tty/console/active"
LOUD = {LEVELS: "7\t4\t1\t7\n", ACTIVE: "tty0 ttyS0\n"}


def test_a_quiet_serial_console_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, LOUD | {LEVELS: "3\t4\t1\t7\n"}).state is State.PASS


def test_a_screen_may_show_all(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, LOUD | {ACTIVE: "tty0\n"}).state is State.PASS


def test_a_loud_serial_console_fails_and_is_remedied(tmp_path: Path) -> None:
    tree(tmp_path, LOUD)

    with remedied(CHECK, tmp_path) as remedies:
        assert [remedy.id for remedy in remedies] == ["K25-now", "K25-boot"]
        assert remedies[0].changes[0].wanted == "3\t4\t1\t7"
        assert [str(item) for item in remedies[1].boot] == ["quiet", "loglevel=3"]


def test_where_active_consoles_are_hidden_the_command_line_tells(tmp_path: Path) -> None:
    files = {LEVELS: "7\t4\t1\t7\n", "/proc/cmdline": "console=ttyS0,115200n8\n"}

    assert judge(CHECK, tmp_path, files).state is State.FAIL


def test_no_levels_leave_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


def test_what_is_no_number_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, LOUD | {LEVELS: "loud\n"}).state is State.UNKNOWN


def test_a_guest_is_not_asked(tmp_path: Path) -> None:
    guest = replace(POLL, role=Role.KVM_GUEST)

    assert judge(CHECK, tmp_path, LOUD, guest).state is State.NOT_APPLICABLE
